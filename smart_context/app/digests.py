"""Writes summaries of chats that suit the windows of the models in use."""

from collections.abc import Callable, Sequence

from smart_context.chat.messages import Message
from smart_context.config import VaultConfig
from smart_context.host.request.window import window_of
from smart_context.llm.models import ChatModel
from smart_context.summaries.digest import PART_TOKENS, SUMMARY_TOKENS, DigestLimits, digest

READ_SHARE = 0.4
"""How much of the fast model's window one part of a chat fills."""

SUMMARY_SHARE = 0.15
"""How much of either model's window a summary fills."""


class Digests:
    """Makes summaries; satisfies `DigestBy`.

    Args:
        config: Gives the settings in use now.
    """

    def __init__(self, config: Callable[[], VaultConfig]) -> None:
        self._config = config

    async def __call__(
        self, messages: Sequence[Message], former: str, model: ChatModel | None
    ) -> str:
        """A summary in Markdown; see `digest`."""
        return await digest(messages, former, model, self._limits())

    def _limits(self) -> DigestLimits:
        config = self._config()
        reader, answerer = window_of(config.fast), window_of(config.chat)
        windows = [window.tokens for window in (reader, answerer) if window is not None]
        part = int(reader.tokens * READ_SHARE) if reader else PART_TOKENS
        summary = min((int(tokens * SUMMARY_SHARE) for tokens in windows), default=SUMMARY_TOKENS)
        return DigestLimits(
            part_tokens=min(part, PART_TOKENS), summary_tokens=min(summary, SUMMARY_TOKENS)
        )
