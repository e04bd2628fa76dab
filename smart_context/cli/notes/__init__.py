"""Verbs about notes, contexts and packing."""
