"""Says before sending what would be sent, and what it would cost."""
