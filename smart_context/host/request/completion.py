"""Completes a request before it is sent: adds images, then fits it to the window."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.config import EndpointSettings
from smart_context.chat.messages import Message
from smart_context.host.request.known_models import KnownModels
from smart_context.host.request.prompt import is_image
from smart_context.host.request.request import Request, schemas_text
from smart_context.host.request.shortening import fitted, surely_fits
from smart_context.host.request.speaking_order import SpeakingOrder
from smart_context.host.request.window import Window, window_of
from smart_context.llm.models import PromptMessage
from smart_context.llm.tokens import TokenCounter
from smart_context.storage.ports import Blobs

MAX_IMAGES = 8
"""The maximum number of images in one request, the newest first."""


@dataclass(frozen=True, slots=True)
class RequestCompletion:
    """The last changes to a request, the same for a turn and for its preview."""

    endpoint: Callable[[], EndpointSettings | None]  # the current chat model, if one is configured
    known: KnownModels  # the facts about models from their servers

    @property
    def window(self) -> Window | None:
        """The chat model's window; `None` if it is unknown."""
        return self.window_of(self.endpoint())

    def fitting_window(self, endpoint: EndpointSettings | None) -> Window | None:
        """The window that surely fits a model after its last refusal; `None` if unknown."""
        if endpoint is None:
            return None
        is_guess = self.known.window(endpoint) is None
        count = self.counter(endpoint.model)
        found = window_of(endpoint, count, self.known.fitting_window)
        return found and replace(found, is_guess=is_guess)

    def window_of(self, endpoint: EndpointSettings | None) -> Window | None:
        """A model's window; `None` if it is unknown."""
        if endpoint is None:
            return None
        return window_of(endpoint, self.counter(endpoint.model), self.known.window)

    def counter(self, model: str) -> TokenCounter:
        """The token counter of a model."""
        return self.known.counter(model)

    def learn_counts(self, request: Request, sent: Sequence[PromptMessage], counted: int) -> None:
        """Learn from the tokens that the chat model's endpoint counted in a request."""
        endpoint = self.endpoint()
        if endpoint is not None and not request.images:
            tools = schemas_text(request.offered())
            self.known.learn_counts(endpoint, sent, tools, counted)

    @property
    def may_be_cut(self) -> bool:
        """True if the chat model's server may cut requests without a word."""
        endpoint = self.endpoint()
        return endpoint is not None and self.known.may_cut_silently(endpoint)

    async def ask(self) -> None:
        """Ask the chat model's server about the model, unless it has been asked already."""
        await self.known.ask(self.endpoint())

    async def keep_guess(self, window: Window | None, endpoint: EndpointSettings | None) -> None:
        """Use the window of a request that was answered from now on, if it was a guess."""
        if window is not None and window.is_guess and endpoint is not None:
            await self.known.keep_guess(endpoint)

    async def completed(self, request: Request, files: Blobs) -> Request:
        """The request as it would be sent; raises `RequestTooLong` if it would be refused.

        Args:
            files: The attached files that the person who asks may read.
        """
        return await within(self.window, await self.with_images(request, files))

    async def with_images(self, request: Request, files: Blobs) -> Request:
        """The request in the model's order and, if the model can see them, with its images."""
        keys = self.image_keys(request)
        found = {key: uri for key in keys if (uri := await files.data_uri(key))}
        endpoint = self.endpoint()
        return replace(
            request,
            images=found,
            order=self.known.order(endpoint),
            has_tools_behind=self.known.puts_tools_behind(endpoint),
        )

    def order_of_client(self, model: str) -> SpeakingOrder:
        """The order of messages that the chat model's endpoint needs for a client's model."""
        return self.known.order(self._of_client(model))

    def window_of_client(self, model: str) -> Window | None:
        """The window of a client's model at the chat model's endpoint; see `certain_window`."""
        return self.certain_window(self._of_client(model))

    def certain_window(self, endpoint: EndpointSettings | None) -> Window | None:
        """A model's window, if it was set, told, or learned from a refusal; `None` otherwise.

        Other programs' requests are shortened only for such a window; else their provider decides.
        """
        count = self.counter(endpoint.model) if endpoint else None
        return window_of(endpoint, count, self.known.certain_window)

    def _of_client(self, model: str) -> EndpointSettings | None:
        endpoint = self.endpoint()
        return endpoint and replace(endpoint, model=model or endpoint.model)

    def image_keys(self, request: Request) -> Sequence[str]:
        """The keys of the images that the model would be shown; none if it can't see images."""
        endpoint = self.endpoint()
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
