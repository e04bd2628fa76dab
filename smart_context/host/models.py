"""What the composition root passes to a host: models and a history builder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import CommandFailed
from smart_context.chat.messages import Message
from smart_context.llm.models import ChatModel, Embedder

NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class Summarizer(Protocol):
    """Writes summaries."""

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
        """A summary in Markdown.

        Args:
            messages: What to sum up, oldest first.
            previous: The summary of what came before; empty if there is none.
            model: Writes it; without one, sentences are quoted.
            instructions: What the user wants the summary to keep; may be empty.
            or_quotes: Quote sentences if the model fails.

        Raises:
            ModelFailed: The model fails, and nothing is to be quoted.
        """


async def no_summaries(*_messages: object, **_wishes: object) -> str:
    """Stands in for a `Summarizer` in a program that has none.

    Raises:
        CommandFailed: Always.
    """
    raise CommandFailed("This program can't write summaries.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models in use."""

    chat: ChatModel  # answers the user
    # finds topics and writes summaries; `None`: this is done without a model
    fast: ChatModel | None
    embedder: Embedder  # turns texts into vectors
    chat_is_embedded: bool  # no chat model is configured; `chat` quotes passages
    # the embedder runs here: what it reads costs time, and goes nowhere
    embedder_is_embedded: bool = False
    # gives another chat model, for chats that have one of their own
    other: Callable[[EndpointSettings], ChatModel] | None = None


class HistoryBuilder(Protocol):
    """Builds the messages to send from stored ones."""

    async def __call__(
        self, messages: Sequence[Message], /, *, unstored: Mapping[str, str] = NO_TEXTS
    ) -> list[Message]:
        """The messages to send.

        Args:
            messages: Oldest first, the current one last.
            unstored: Texts of attachments that are not stored yet, by storage key.
        """
