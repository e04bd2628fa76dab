"""The commands that the host itself offers."""
