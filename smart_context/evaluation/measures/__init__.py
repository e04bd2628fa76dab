"""Measures, baselines and pictures."""
