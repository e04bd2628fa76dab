"""What the next message would send, and what it would cost."""
