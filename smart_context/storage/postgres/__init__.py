"""All storage of a vault in PostgreSQL, for several processes and machines (docs/team.md)."""
