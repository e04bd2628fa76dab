"""What a chat is about: labels, counts, standing instructions."""
