"""Finds and reads the files for a prompt, and keeps secrets out."""
