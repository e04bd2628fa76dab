"""All chats of a person, searched at once."""
