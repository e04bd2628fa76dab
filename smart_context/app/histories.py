"""Builds the history of each turn from the stored messages, and summaries, as the settings say."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from smart_context.base.config import VaultConfig
from smart_context.chat.compaction import compaction_points
from smart_context.chat.files.attachments import AttachmentResolver
from smart_context.chat.history import ContextBuilderOptions, build_context
from smart_context.chat.messages import Message
from smart_context.host.models import NOTHING
from smart_context.host.request.shortening import with_results_within
from smart_context.host.request.window import (
    ATTACHED_SHARE,
    DIGEST_PART_SHARE,
    SUMMARY_SHARE,
    Window,
    window_of,
)
from smart_context.llm.models import ChatModel
from smart_context.llm.tokens import utf8_bytes
from smart_context.topics.summaries.digest import PART_TOKENS, SUMMARY_TOKENS, DigestLimits, digest

_SAFELY = 0.95


class Histories:
    """Builds histories; a `HistoryBuilder`.

    Args:
        config: Returns the settings in use now.
    """

    def __init__(self, files: AttachmentResolver, config: Callable[[], VaultConfig]) -> None:
        self._files = files
        self._config = config

    async def __call__(
        self, messages: Sequence[Message], /, *, unstored: Mapping[str, str] = NOTHING
    ) -> list[Message]:
        """The messages that a turn sends, the current one last."""
        config = self._config()
        window = window_of(config.chat)
        built = await build_context(
            messages,
            ContextBuilderOptions(
                attachment_resolver=_Overlay(unstored, self._files) if unstored else self._files,
                compaction_points=compaction_points(messages),
                model_support_tool_use_for_file=_reads_files(config),
                fit_attachments=None if window is None else partial(_fitting, window),
            ),
        )
        return built if window is None else with_results_within(built, window)


class _Overlay:
    """Texts that are not stored yet, then the stored ones."""

    def __init__(self, unstored: Mapping[str, str], stored: AttachmentResolver) -> None:
        self._unstored = unstored
        self._stored = stored

    async def read(self, id: str) -> str | None:  # noqa: A002 - the name in the protocol
        return self._unstored.get(id) or await self._stored.read(id)


def _fitting(window: Window, texts: Sequence[str]) -> list[int]:
    """The number of characters to send of each text, to keep all within their share."""
    left = window.share_of_room(ATTACHED_SHARE)
    lengths: list[int] = []
    for text in texts:
        tokens = utf8_bytes(text)
        if tokens > left:
            tokens = window.count(text)
        if tokens > left:
            length, tokens = int(len(text) * left / tokens * _SAFELY), left
        else:
            length = len(text)
        lengths.append(length)
        left -= tokens
    return lengths


def _reads_files(config: VaultConfig) -> bool:
    settings = config.plugins.get("smart_context", {})
    offers = settings.get("enabled") is True and settings.get("file_tools") != "off"
    return offers and config.chat is not None


class Digests:
    """Writes summaries; a `Summarizer`.

    Args:
        config: Returns the settings in use now.
    """

    def __init__(self, config: Callable[[], VaultConfig]) -> None:
        self._config = config

    async def __call__(
        self,
        messages: Sequence[Message],
        previous: str,
        model: ChatModel | None,
        /,
        *,
        instructions: str = "",
        or_quotes: bool = True,
    ) -> str:
        """A summary in Markdown; see `digest`."""
        limits = self._limits()
        return await digest(
            messages, previous, model, limits, instructions=instructions, or_quotes=or_quotes
        )

    def _limits(self) -> DigestLimits:
        config = self._config()
        reader, answerer = window_of(config.fast), window_of(config.chat)
        windows = [window for window in (reader, answerer) if window is not None]
        part = reader.share(DIGEST_PART_SHARE) if reader else PART_TOKENS
        summary = min((window.share(SUMMARY_SHARE) for window in windows), default=SUMMARY_TOKENS)
        return DigestLimits(
            part_tokens=min(part, PART_TOKENS), summary_tokens=min(summary, SUMMARY_TOKENS)
        )
