"""Notes and files of a vault as context: named contexts, suggestions, tools."""
