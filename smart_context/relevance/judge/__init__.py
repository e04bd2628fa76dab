"""From evidence to how probable a message is about a topic."""
