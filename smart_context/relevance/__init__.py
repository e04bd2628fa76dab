"""Finds the messages that belong to the selected topics, with the reason for each."""
