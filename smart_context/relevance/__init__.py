"""Which messages belong to the selected topics, and why."""
