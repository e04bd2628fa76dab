"""The vectors of messages: stored, cached, compared."""
