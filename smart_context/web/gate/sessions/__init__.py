"""The sessions of browsers that were let in."""
