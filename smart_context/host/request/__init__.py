"""One request to the model: its shares of the window, its messages and tools."""
