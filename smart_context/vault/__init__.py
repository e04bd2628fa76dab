"""The vault: paths, notes, links, guarded reads."""
