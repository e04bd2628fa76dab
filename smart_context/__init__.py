"""See and steer what a language model is given."""

__version__ = "0.1.0"
