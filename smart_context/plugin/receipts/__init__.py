"""Receipts: the messages that were sent and left out in each turn, and why."""
