"""Asks git for changes, safely even in untrusted repositories."""
