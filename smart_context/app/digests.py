"""Writes summaries of chats, sized for the windows of the models."""

from collections.abc import Callable, Sequence

from smart_context.base.config import VaultConfig
from smart_context.chat.messages import Message
from smart_context.host.request.window import DIGEST_PART_SHARE, SUMMARY_SHARE, window_of
from smart_context.llm.models import ChatModel
from smart_context.topics.summaries.digest import PART_TOKENS, SUMMARY_TOKENS, DigestLimits, digest


class Digests:
    """Writes summaries; a `Summarizer`.

    Args:
        config: Returns the settings in use now.
    """

    def __init__(self, config: Callable[[], VaultConfig]) -> None:
        self._config = config

    async def __call__(
        self, messages: Sequence[Message], previous: str, model: ChatModel | None
    ) -> str:
        """A summary in Markdown; see `digest`."""
        return await digest(messages, previous, model, self._limits())

    def _limits(self) -> DigestLimits:
        config = self._config()
        reader, answerer = window_of(config.fast), window_of(config.chat)
        windows = [window for window in (reader, answerer) if window is not None]
        part = reader.share(DIGEST_PART_SHARE) if reader else PART_TOKENS
        summary = min((window.share(SUMMARY_SHARE) for window in windows), default=SUMMARY_TOKENS)
        return DigestLimits(
            part_tokens=min(part, PART_TOKENS), summary_tokens=min(summary, SUMMARY_TOKENS)
        )
