"""What the composition root passes to a host: models and a history builder."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from smart_context.base.config import EndpointSettings
from smart_context.chat.messages import Message
from smart_context.llm.models import ChatModel, Embedder

NOTHING: Mapping[str, str] = MappingProxyType({})

Summarizer = Callable[[Sequence[Message], str, ChatModel | None], Awaitable[str]]
"""Writes a summary of messages and of the previous summary, with a model if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models in use.

    Attributes:
        chat: Answers the user.
        fast: Finds topics and writes summaries; `None`: this is done without a model.
        embedder: Turns texts into vectors.
        chat_is_embedded: No chat model is configured; `chat` quotes passages.
        embedder_is_embedded: The embedder runs here: what it reads costs time, and goes nowhere.
        other: Gives another chat model, for chats that have one of their own.
    """

    chat: ChatModel
    fast: ChatModel | None
    embedder: Embedder
    chat_is_embedded: bool
    embedder_is_embedded: bool = False
    other: Callable[[EndpointSettings], ChatModel] | None = None


class HistoryBuilder(Protocol):
    """Builds the messages to send from stored ones."""

    async def __call__(
        self, messages: Sequence[Message], /, *, unstored: Mapping[str, str] = NOTHING
    ) -> list[Message]:
        """The messages to send.

        Args:
            messages: Oldest first, the current one last.
            unstored: Texts of attachments that are not stored yet, by storage key.
        """
