"""Requests to the chat model for plugins: as they would be sent, without sending."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import Message, MessageId
from smart_context.host.chosen_model import MOST_CHARS, endpoint_of_choice
from smart_context.host.commands.files import attached_files, described_links
from smart_context.host.request.request import Request
from smart_context.host.request.sent import request_body
from smart_context.host.request.window import Window
from smart_context.host.services import Services
from smart_context.host.turn import Turn
from smart_context.host.turns.rounds import ask_model


class Requests:
    """Makes what a turn would send.

    Args:
        services: The host's parts.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def window(self) -> Window | None:
        """The chat model's window; `None` when it is unknown."""
        return self._services.completion.window

    @property
    def takes_tools(self) -> bool:
        """False once the chat model has refused tools; they are then described as text."""
        services = self._services
        return not services.tool_support.is_refused_by(services.current.models.chat)

    def image_keys(self, request: Request) -> Sequence[str]:
        """The keys of the attached images that the model would be shown."""
        return self._services.completion.image_keys(request)

    async def draft(
        self,
        text: str,
        files: Sequence[Mapping[str, Any]] = (),
        links: Sequence[Mapping[str, Any]] = (),
    ) -> Message:
        """A message as `chat.send` would send it, with attached texts; stores nothing.

        Raises:
            InvalidParams: If there are too many attachments, or one is unknown.
        """
        described = described_links(links)
        draft = Message(
            id=MessageId("draft"),
            role="user",
            content=text,
            files=await attached_files(self._services.storage.blobs, files),
            links=tuple(link for link, _ in described),
        )
        if not (draft.files or draft.links):
            return draft
        unstored = {link["storage_key"]: text for link, text in described}
        return (await self._services.build_history((draft,), unstored=unstored))[-1]

    async def attached_text(self, key: str) -> str:
        """The whole text of an attached file; empty if there is none."""
        return await self._services.storage.blobs.read(key) or ""

    async def completed(self, request: Request) -> Request:
        """A request as it would be sent, within the model's window.

        Raises:
            RequestTooLong: If it would be refused.
        """
        return await self._services.completion.completed(request)

    async def ask(self, turn: Turn, on_text: Callable[[str], None]) -> None:
        """Ask the chat model the request of a turn that no chat has; see `ask_model`.

        Raises:
            ModelFailed: If the model did not answer, or gave an empty answer.
        """
        services = self._services
        await ask_model(
            turn,
            services.current.models,
            services.tool_support,
            services.completion,
            on_text=on_text,
            on_step=lambda: None,
        )

    def stopping(
        self, chat_id: str, tasks: Sequence[asyncio.Task[Any]]
    ) -> AbstractContextManager[None]:
        """Let `chat.stop` cancel these tasks within a block."""
        return self._services.stops.stopping(chat_id, tasks)

    def choice_of(self, model: str) -> str:
        """The model of this name, in the form that `chat.set_model` takes; empty if unknown."""
        if len(model) > MOST_CHARS:
            return ""
        config = self._services.current.default_config
        known = {e.model: name for name, e in (("fast", config.fast), ("chat", config.chat)) if e}
        choices = (model, known.get(model, ""), f"chat/{model}")
        return next((c for c in choices if endpoint_of_choice(config, c) is not None), "")

    def body(self, request: Request, *, streamed: bool = True) -> JsonObject:
        """The whole body of a completed request, as the endpoint would get it."""
        model = self._services.current.models.chat
        parameters = model.parameters(request.offered(), streamed=streamed)
        return request_body(parameters, request.messages())
