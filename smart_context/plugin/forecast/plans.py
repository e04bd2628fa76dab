"""The requests that turns would make, for previews and replays; sends nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from smart_context.base.errors import RequestTooLong
from smart_context.base.values import JsonObject
from smart_context.chat.messages import Message, MessageId
from smart_context.host.plugins.api import PluginContext
from smart_context.host.request.request import Request
from smart_context.host.request.sent import (
    NOTHING_ADDED,
    AddedTexts,
    added_by_client,
    added_texts,
    request_body,
)
from smart_context.llm.models import PromptMessage
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.forecasts import Forecast
from smart_context.plugin.notes.file_tools import FileOffer
from smart_context.plugin.selection.selector import ChatView, protected_ids

_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """A request as it would be sent."""

    body: JsonObject
    added: AddedTexts = NOTHING_ADDED
    left_out: frozenset[MessageId] = frozenset()  # messages that do not fit into its window
    lacks_attached: bool = False  # the attached contexts and recalls do not fit
    problem: str = ""  # why it can't be sent, for people; empty if it can

    @property
    def prompt(self) -> tuple[PromptMessage, ...]:
        """The messages of the body."""
        return tuple(self.body["messages"])


@dataclass(frozen=True, slots=True)
class RequestPlanner:
    """Makes requests as turns do, with the current tools and window."""

    context: PluginContext
    offer: FileOffer

    def gives_tools_as_text(self) -> bool:
        """True if the model is given tools, calls and results in plain text."""
        return self.offer.is_fenced or not self.context.requests.takes_tools

    def may_offer_files(self, view: ChatView) -> bool:
        """True if the chat's own choice decides about the file tools."""
        return self.offer.is_open and not view.is_of_client

    def with_tools(self, request: Request, state: FilterState) -> Request:
        """The request with the tools that a turn would offer; a client's has its own.

        Its images are empty: what they cost is known without reading them.

        Args:
            request: Without tools and images.
        """
        if request.is_of_client:
            return request
        requests = self.context.requests
        return replace(
            request,
            tools=tuple(self.offer.tools(state)),
            as_text=self.gives_tools_as_text(),
            images=dict.fromkeys(requests.image_keys(request), ""),
        )

    def added(self, request: Request, state: FilterState, fields: Mapping[str, Any]) -> AddedTexts:
        """What tools and images add to a request; see `plan`."""
        if request.is_of_client:
            return added_by_client(fields)
        return added_texts(self.with_tools(request, state))

    async def plan(
        self,
        request: Request,
        state: FilterState,
        *,
        streamed: bool = True,
        fields: Mapping[str, Any] = _NO_FIELDS,
    ) -> PlannedRequest:
        """The request that a turn would send.

        Args:
            request: Without tools and images.
            streamed: The answer would come piece by piece.
            fields: All fields but the messages of another program's request.
        """
        if request.is_of_client:  # we add no tools, no limit and no images
            messages = await asyncio.to_thread(request.messages)
            body = request_body(fields, messages)
            return PlannedRequest(body=body, added=added_by_client(fields))
        whole, problem = self.with_tools(request, state), ""
        try:
            made = await self.context.requests.completed(whole)
        except RequestTooLong as error:
            made, problem = whole, str(error)
        body = await asyncio.to_thread(self.context.requests.body, made, streamed=streamed)
        return _planned(request, made, body, problem)


def request_of(forecast: Forecast, briefing: Briefing, draft: Message, attached: str) -> Request:
    """The request that a turn would make, without tools and images."""
    return Request(
        system_prompt=briefing.system_prompt(""),
        history=forecast.decision.messages,
        message=briefing.message,
        is_of_client=forecast.view.is_of_client,
        files=tuple(draft.files),
        protected=protected_ids(forecast.view),
        optional_prompt=briefing.attached,
        attached_text=attached,
    )


def _planned(request: Request, made: Request, body: JsonObject, problem: str) -> PlannedRequest:
    had = {message.id for message in request.history}
    return PlannedRequest(
        body=body,
        added=added_texts(made),
        left_out=frozenset(had - {message.id for message in made.history}),
        lacks_attached=made.optional_prompt != request.optional_prompt,
        problem=problem,
    )
