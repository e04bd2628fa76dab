"""Plugins: found, loaded, and given their interface."""
