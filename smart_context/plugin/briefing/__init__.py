"""What stands at the head of a request: role, contexts, standing instructions."""
