"""Turns evidence into the probability that a message is about a topic."""
