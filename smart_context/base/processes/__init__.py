"""Other processes: a killable child for costly parsing, and external programs."""
