"""What the user chose for a chat, stored next to it."""
