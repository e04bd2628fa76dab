"""The index of notes and links, kept in step with the disk."""
