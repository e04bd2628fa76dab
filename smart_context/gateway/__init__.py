"""The OpenAI-compatible gateway: other programs, steered by the panel."""
