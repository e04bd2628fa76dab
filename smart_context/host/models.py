"""What the composition root passes to a host, models and a history builder, and what is in use.

A chat may have a model of its own. It is kept in the chat's document under `model`, in the form
of `smart_context.llm.connections`, and counts while a turn or a command of that chat runs, and for
nothing else.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol

from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.base.errors import CommandFailed
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
            messages: What to sum up, oldest first.
            previous: The summary of what came before; empty if there is none.
            instructions: What the user wants the summary to keep; may be empty.
            or_quotes: Quote sentences if the model fails.

        Raises:
            ModelFailed: The model fails, and nothing is to be quoted.
        """


async def no_summaries(*_messages: object, **_wishes: object) -> str:
    """Stands in for a `Summarizer` in a program that has none; always raises `CommandFailed`."""
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

    @property
    def writer(self) -> ChatModel | None:
        """The model that writes what a person asks for: the fast one, else the connected one."""
        return self.fast or (None if self.chat_is_embedded else self.chat)


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


MODEL = "model"
"""The key of a chat's own model in its document."""

MOST_CHARS = 1_000

_chosen: ContextVar[str] = ContextVar("chosen_model", default="")


class CurrentSettings:
    """The settings and models in use now; they change when the settings file does.

    While a chat's own model counts, it is the chat model of both.
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
        """The settings, whichever chat's own model counts."""
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
    """Let a choice count for the rest of this task, and for tasks that it starts."""
    _chosen.set(choice)


@contextmanager
def chosen(choice: str) -> Iterator[None]:
    """Let a choice count within a block."""
    token = _chosen.set(choice)
    try:
        yield
    finally:
        _chosen.reset(token)
