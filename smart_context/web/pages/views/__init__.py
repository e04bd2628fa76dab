"""What templates show of messages, turns and the panel."""
