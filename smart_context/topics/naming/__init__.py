"""Names a group of messages by a phrase from them."""
