"""Completes a request before it is sent: adds images, then fits it to the window."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from smart_context.base.config import EndpointSettings
from smart_context.base.values import CountTokens
from smart_context.chat.messages import Message
from smart_context.host.request.prompt import is_image
from smart_context.host.request.request import Request
from smart_context.host.request.shortening import fitted, surely_fits
from smart_context.host.request.window import Window, window_of
from smart_context.storage.ports import Blobs

MAX_IMAGES = 8
"""Most images that go with one request, the newest first."""


class RequestCompletion:
    """The last changes to a request, the same for a turn and for its preview.

    Args:
        endpoint: Returns the current chat model; `None` if none is configured.
        counter: Returns the token counter of a model.
    """

    def __init__(
        self,
        files: Blobs,
        endpoint: Callable[[], EndpointSettings | None],
        counter: Callable[[str], CountTokens],
    ) -> None:
        self._files = files
        self._endpoint = endpoint
        self._counter = counter

    @property
    def window(self) -> Window | None:
        """The chat model's window; `None` when it is unknown."""
        endpoint = self._endpoint()
        return window_of(endpoint, self._counter(endpoint.model)) if endpoint else None

    async def completed(self, request: Request) -> Request:
        """The request as it would be sent.

        Raises:
            RequestTooLong: If it would be refused.
        """
        return await within(self.window, await self.with_images(request))

    async def with_images(self, request: Request) -> Request:
        """The request with its attached images, if the model can see images."""
        keys = self.image_keys(request)
        found = {key: uri for key in keys if (uri := await self._files.data_uri(key))}
        return replace(request, images=found)

    def image_keys(self, request: Request) -> Sequence[str]:
        """The keys of the images that the model would be shown; none if it can't see images."""
        endpoint = self._endpoint()
        if endpoint is None or not endpoint.images:
            return ()
        return first_images([*request.files, *_files_of(request.history)])


def first_images(entries: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The keys of the first images among these attached files."""
    keys = dict.fromkeys(str(entry.get("storage_key")) for entry in entries if is_image(entry))
    return list(keys)[:MAX_IMAGES]


async def within(window: Window | None, request: Request) -> Request:
    """The request, shortened to fit into the window if that is known.

    Raises:
        RequestTooLong: If it can't be shortened enough.
    """
    if window is None or surely_fits(request, window):
        return request
    return await asyncio.to_thread(fitted, request, window)


def _files_of(history: Sequence[Message]) -> list[Mapping[str, Any]]:
    """The files of a history, newest first."""
    return [file for message in reversed(history) for file in reversed(message.files)]
