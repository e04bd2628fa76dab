"""Named contexts: a saved list of notes and its resolved text (seed 000)."""
