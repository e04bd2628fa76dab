"""The values that templates show: of messages, turns and the panel."""
