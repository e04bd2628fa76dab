"""The atlas: the parts that keep it up to date with a person's chats, and show it."""
