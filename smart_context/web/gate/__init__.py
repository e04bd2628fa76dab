"""Who is let in: hosts, origins, sessions, keys and links; and what is refused."""
