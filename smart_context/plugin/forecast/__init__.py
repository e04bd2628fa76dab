"""Forecasts of the next request of a chat, and of its cost."""
