"""What comes back: a provider's answer read on the side, and our own answers."""
