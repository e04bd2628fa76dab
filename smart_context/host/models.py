"""The models, summarizer and history builder of a host, and its current settings.

A chat may have a model of its own. It is kept in the chat's document under `model`, in the form
of `smart_context.llm.connections`, and is used only while a turn or a command of that chat runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol

from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.base.errors import CommandFailed
from smart_context.chat.files.attachments import AttachmentResolver
from smart_context.chat.messages import Message
from smart_context.llm.connections import endpoint_of_choice
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
            messages: The messages to sum up, oldest first.
            previous: The summary of the messages before these; empty if there is none.
            instructions: The user's wishes for the summary; may be empty.
            or_quotes: Quote sentences if the model fails.

        Raises:
            ModelFailed: If the model fails, unless `or_quotes`.
        """


async def no_summaries(*_messages: object, **_wishes: object) -> str:
    """The `Summarizer` of a program that has none; always raises `CommandFailed`."""
    raise CommandFailed("This program can't write summaries.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models in use."""

    chat: ChatModel  # answers the user
    # finds topics and writes summaries; `None` if that is done without a model
    fast: ChatModel | None
    embedder: Embedder  # turns texts into vectors
    chat_is_embedded: bool  # True if no chat model is configured; `chat` quotes passages
    # True if the embedder runs here: texts cost time, but are sent nowhere
    embedder_is_embedded: bool = False
    # gives another chat model, for chats that have one of their own
    other: Callable[[EndpointSettings], ChatModel] | None = None

    @property
    def writer(self) -> ChatModel | None:
        """The model that writes texts for people: the fast one, else a connected chat model."""
        return self.fast or (None if self.chat_is_embedded else self.chat)


class HistoryBuilder(Protocol):
    """Builds the messages to send from stored ones."""

    async def __call__(
        self,
        messages: Sequence[Message],
        /,
        *,
        files: AttachmentResolver,
        unstored: Mapping[str, str] = NO_TEXTS,
    ) -> list[Message]:
        """The messages to send.

        Args:
            files: The attached files that the person who asks may read.
            messages: The stored messages, oldest first, the current one last.
            unstored: Texts of attachments that are not stored yet, by storage key.
        """


MODEL = "model"
"""The key of a chat's own model in its document."""

MOST_CHARS = 1_000

_chosen: ContextVar[str] = ContextVar("chosen_model", default="")


class CurrentSettings:
    """The settings and models in use now; they change when the settings file does.

    Within `chosen`, the chosen model is the chat model of both.
    """

    def __init__(self, *, config: VaultConfig, models: Models) -> None:
        self._config = config
        self._models = models

    @property
    def config(self) -> VaultConfig:
        """The settings."""
        endpoint = self._own()
        return self._config if endpoint is None else replace(self._config, chat=endpoint)

    @config.setter
    def config(self, config: VaultConfig) -> None:
        self._config = config

    @property
    def default_config(self) -> VaultConfig:
        """The settings, regardless of a chat's own model."""
        return self._config

    @property
    def models(self) -> Models:
        """The models."""
        endpoint, known = self._own(), self._models
        if endpoint is None or known.other is None:
            return known
        return replace(known, chat=known.other(endpoint), chat_is_embedded=False)

    @models.setter
    def models(self, models: Models) -> None:
        self._models = models

    def _own(self) -> EndpointSettings | None:
        return endpoint_of_choice(self._config, _chosen.get())


def choice_in(document: Mapping[str, Any]) -> str:
    """The model that a chat's document names; empty for the default."""
    found = document.get(MODEL)
    return found if isinstance(found, str) and len(found) <= MOST_CHARS else ""


def choose(choice: str) -> None:
    """Use a chat's own model for the rest of this task, and for tasks that it starts."""
    _chosen.set(choice)


@contextmanager
def chosen(choice: str) -> Iterator[None]:
    """Use a chat's own model within a block."""
    token = _chosen.set(choice)
    try:
        yield
    finally:
        _chosen.reset(token)
