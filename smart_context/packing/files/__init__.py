"""The files that go into a prompt, and those that must not."""
