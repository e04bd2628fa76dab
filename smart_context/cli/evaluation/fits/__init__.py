"""Fits scale and judge to another embedding model."""
