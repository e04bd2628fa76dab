"""What the user picked, on disk beside the chat."""
