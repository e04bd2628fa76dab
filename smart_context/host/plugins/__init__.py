"""Finds and loads plugins, and gives them their interface."""
