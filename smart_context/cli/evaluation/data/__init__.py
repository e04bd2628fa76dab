"""Dialogues with known answers: formats, parts, typed topics."""
