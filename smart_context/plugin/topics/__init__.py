"""A chat's topics: when they are extracted, and how users change them."""
