"""Opens the vault's files, and only those: ignore rules, paths, walks."""
