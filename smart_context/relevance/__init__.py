"""Finds the messages that belong to the selected topics, and says why."""
