"""Measures, baselines, and their pictures."""
