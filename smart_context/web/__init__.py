"""Pages, socket and HTTP gateway."""
