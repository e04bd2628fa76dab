"""Evidence on how much the messages of a chat are about a label."""
