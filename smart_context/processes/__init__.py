"""Other processes: a killable child of our own for costly parsing, and other people's programs."""
