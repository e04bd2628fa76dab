"""Markdown and messages as safe HTML."""
