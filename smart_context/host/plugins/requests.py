"""Makes requests as a turn would send them, for plugins."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import Message, MessageId
from smart_context.host.commands.files import attached_files, described_links
from smart_context.host.models import (
    MOST_CHARS,
)
from smart_context.host.plugins.services import Services
from smart_context.host.request.request import Request, request_body
from smart_context.host.request.speaking_order import SpeakingOrder
from smart_context.host.request.window import Window
from smart_context.host.turn import Turn
from smart_context.host.turns.rounds import AnswerListeners
from smart_context.llm.connections import endpoint_of_choice
from smart_context.llm.tokens import TokenCounter
from smart_context.storage.ports import Blobs


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes requests as a turn would send them, for one person."""

    _services: Services
    _files: Blobs  # the attached files that the person may read

    @property
    def window(self) -> Window | None:
        """The chat model's window; `None` when it is unknown."""
        return self._services.pipeline.completion.window

    async def ask_server(self) -> None:
        """Ask the chat model's server for its window, unless it has been asked already."""
        await self._services.pipeline.completion.ask()

    @property
    def may_be_cut(self) -> bool:
        """True if the chat model's server may cut requests without a word."""
        return self._services.pipeline.completion.may_be_cut

    def counter(self, model: str) -> TokenCounter:
        """The token counter of a model."""
        return self._services.pipeline.completion.counter(model)

    def order_of_client(self, model: str) -> SpeakingOrder:
        """The order of messages in a client's request that asks for this model."""
        return self._services.pipeline.completion.order_of_client(model)

    def window_of_client(self, model: str) -> Window | None:
        """The window that limits a client's request for this model; `None` if nothing limits it."""
        return self._services.pipeline.completion.window_of_client(model)

    @property
    def joins_messages(self) -> bool:
        """True if the chat model needs consecutive messages of one role joined into one."""
        completion = self._services.pipeline.completion
        return completion.known.order(completion.endpoint()) is not SpeakingOrder.ANY

    @property
    def puts_tools_behind(self) -> bool:
        """True if the chat model reads the schemas of tools after the system prompt."""
        completion = self._services.pipeline.completion
        return completion.known.puts_tools_behind(completion.endpoint())

    @property
    def takes_tools(self) -> bool:
        """False once the chat model has refused tools; they are then described as text."""
        model = self._services.current.models.chat
        return not self._services.pipeline.support.is_refused_by(model)

    def image_keys(self, request: Request) -> Sequence[str]:
        """The keys of the attached images that the model would be shown."""
        return self._services.pipeline.completion.image_keys(request)

    async def draft(
        self,
        text: str,
        files: Sequence[Mapping[str, Any]] = (),
        links: Sequence[Mapping[str, Any]] = (),
    ) -> Message:
        """A message as `chat.send` would send it, with attached texts; stores nothing.

        Since the message is being written, background work does not ask the model meanwhile.

        Raises:
            InvalidParams: If there are too many attachments, or one is unknown.
        """
        if text.strip():
            self._services.person_writes()
        described = described_links(links)
        draft = Message(
            id=MessageId("draft"),
            role="user",
            content=text,
            files=await attached_files(self._files, files),
            links=tuple(link for link, _ in described),
        )
        if not (draft.files or draft.links):
            return draft
        unstored = {link["storage_key"]: text for link, text in described}
        build = self._services.build_history
        return (await build((draft,), files=self._files, unstored=unstored))[-1]

    async def attached_text(self, key: str) -> str:
        """The whole text of an attached file; empty if there is none."""
        return await self._files.read(key) or ""

    async def completed(self, request: Request) -> Request:
        """A request as it would be sent, within the model's window.

        Raises:
            RequestTooLong: If it can't be made short enough.
        """
        return await self._services.pipeline.completion.completed(request, self._files)

    async def ask(self, turn: Turn, on_text: Callable[[str], None]) -> None:
        """Ask the chat model the request of a turn outside of any chat.

        Raises:
            ModelFailed: If the model did not answer, or gave an empty answer.
        """
        await self._services.pipeline.ask_model(turn, AnswerListeners(text=on_text))

    def stopping(
        self, chat_id: str, tasks: Sequence[asyncio.Task[Any]]
    ) -> AbstractContextManager[None]:
        """Let `chat.stop` cancel these tasks within a block."""
        return self._services.stops.stopping(chat_id, tasks)

    async def choice_of(self, model: str) -> str:
        """The model of this name, in the form that `chat.set_model` takes; empty if unknown."""
        if len(model) > MOST_CHARS:
            return ""
        config = self._services.current.default_config
        if endpoint_of_choice(config, model) is not None:
            return model
        offered = await self._services.offers.choices(config, model)
        if len(offered) == 1:
            return offered[0]
        return f"chat/{model}" if config.chat is not None else ""

    def body(self, request: Request, *, streamed: bool = True) -> JsonObject:
        """The whole body of a completed request, as the endpoint would get it."""
        model = self._services.current.models.chat
        parameters = model.parameters(request.offered(), streamed=streamed)
        return request_body(parameters, request.messages())
