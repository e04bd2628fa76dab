"""Groups messages by subject."""
