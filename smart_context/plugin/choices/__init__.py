"""The user's choices for a chat, stored next to it."""
