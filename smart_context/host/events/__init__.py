"""The events of a host, and what carries them."""
