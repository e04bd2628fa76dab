"""Access control: hosts, origins, sessions, keys and links."""
