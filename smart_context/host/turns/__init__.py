"""A turn from the user's message to the saved answer."""
