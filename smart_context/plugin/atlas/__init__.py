"""The atlas: keeps it in step with a person's chats, and shows it."""
