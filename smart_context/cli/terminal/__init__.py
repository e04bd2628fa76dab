"""What the verbs share: printing, progress, arguments."""
