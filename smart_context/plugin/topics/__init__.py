"""A chat's topics: extraction in the background, and edits by the user."""
