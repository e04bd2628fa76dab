"""One request of a client as a turn of its chat."""
