"""Dialogues and what is asked of them: formats, parts, typed topics."""
