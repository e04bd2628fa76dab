"""One reader for each program: pure functions from the content of a file to chats."""
