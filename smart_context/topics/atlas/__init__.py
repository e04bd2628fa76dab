"""The atlas: the topics of all chats, merged into topics and themes. Pure."""
