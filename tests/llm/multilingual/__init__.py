"""multilingual-e5-small in numpy."""
