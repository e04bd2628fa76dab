"""The events of a host, and the parts that carry them."""
