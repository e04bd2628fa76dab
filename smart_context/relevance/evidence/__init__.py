"""What is known of a label and the messages of a chat."""
