"""The journal of an answer that is being written."""
