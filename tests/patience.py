"""How long a test waits for what has to come: long, since only a failing test waits that long."""

PATIENCE_S = 60.0
