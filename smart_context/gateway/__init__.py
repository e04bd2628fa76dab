"""The OpenAI-compatible gateway: clients of others, steered by the panel."""
