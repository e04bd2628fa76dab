"""all-MiniLM-L6-v2 in plain numpy, with its weights as int8.

The weights are Apache-2.0: see `LICENSE` and `NOTICE` in this folder.
"""
