"""Requests to the chat model for plugins: as they would be sent, without sending."""

from collections.abc import Mapping, Sequence
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import Message, MessageId
from smart_context.host.commands.files import attached_files, described_links
from smart_context.host.request.request import Request
from smart_context.host.request.sent import request_body
from smart_context.host.request.window import Window
from smart_context.host.services import Services


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

    def body(self, request: Request, *, streamed: bool = True) -> JsonObject:
        """The whole body of a completed request, as the endpoint would get it."""
        model = self._services.current.models.chat
        parameters = model.parameters(request.offered(), streamed=streamed)
        return request_body(parameters, request.messages())
