"""The names that moved to `tests.vaults`, for tests that still look for them here."""

from tests.vaults import about, configured, endpoint, read_chat, vault, write_chat

__all__ = ["about", "configured", "endpoint", "read_chat", "vault", "write_chat"]
