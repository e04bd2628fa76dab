"""What a client's answer says, read while its bytes are passed on unchanged."""
