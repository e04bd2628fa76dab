"""The topics of a chat, and its standing instructions."""
