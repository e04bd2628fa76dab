"""One reader for each program: pure functions from what a file holds to chats."""
