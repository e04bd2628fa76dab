"""A chat as a document: reading it, merging it, saving it."""
