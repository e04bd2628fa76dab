"""Names groups of messages by phrases of the chat."""
