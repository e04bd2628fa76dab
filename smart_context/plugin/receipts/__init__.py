"""Receipts: what was sent, what was not, and why."""
