"""The plan of a turn: its request with the reasons for it, for the current tools and window.

Turns of the page and of other programs, previews and replays each make one.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from smart_context.base.errors import RequestTooLong
from smart_context.base.values import JsonObject
from smart_context.chat.messages import Message, MessageId
from smart_context.host.plugins.api import PluginContext
from smart_context.host.request.completion import within
from smart_context.host.request.request import (
    NOTHING_ADDED,
    AddedTexts,
    Request,
    added_by_client,
    added_texts,
    request_body,
)
from smart_context.host.request.speaking_order import SpeakingOrder
from smart_context.host.request.window import Window
from smart_context.llm.models import PromptMessage
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.notes.file_tools import FileTools
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.selector import protected_ids
from smart_context.plugin.settings import FilterSettings

_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlan:
    """The request of one turn with the reasons for it; its preview and receipt use it, too."""

    view: ChatView  # the chat as the turn finds it
    decision: Decision  # which of its messages are sent
    settings: FilterSettings  # the settings of that decision
    question: Message  # as it is or would be stored
    # role, contexts and so on, and the question as it is sent
    briefing: Briefing = field(default_factory=Briefing)
    system: str = ""  # the system prompt before role and contexts
    attached: str = ""  # the part of the question that holds attached texts
    added: AddedTexts = NOTHING_ADDED  # the texts that tools and images add
    body: JsonObject = field(default_factory=dict)  # the whole request; empty until it is complete
    problem: str = ""  # why the request can't be sent, for people; empty if it can
    asked_at: float = 0.0  # the time of the request in seconds since 1970; 0 if it was not made

    @property
    def state(self) -> FilterState:
        """The user's choices behind the plan."""
        return self.view.sidecar.state

    @property
    def prompt(self) -> tuple[PromptMessage, ...]:
        """The messages of the body."""
        return tuple(self.body["messages"])

    @property
    def request(self) -> Request:
        """The request that a turn makes, without tools and images."""
        return Request(
            system_prompt=self.briefing.system_prompt(self.system),
            history=self.decision.messages,
            message=self.briefing.message,
            is_of_client=self.view.is_of_client,
            files=tuple(self.question.files),
            protected=protected_ids(self.view),
            optional_prompt=self.briefing.attached,
            attached_text=self.attached,
        )

    def without(self, left_out: frozenset[MessageId], *, lacks_attached: bool) -> "TurnPlan":
        """The plan without messages, contexts and recalls that do not fit into the window."""
        return replace(
            self,
            decision=self.decision.without(left_out),
            briefing=self.briefing.without_attached() if lacks_attached else self.briefing,
        )


@dataclass(frozen=True, slots=True)
class RequestPlanner:
    """Makes requests as turns do, with the current tools and window."""

    context: PluginContext
    files: FileTools

    def gives_tools_as_text(self) -> bool:
        """True if the model is given tools, calls and results in plain text."""
        return self.files.is_fenced or not self.context.requests.takes_tools

    def window(self, plan: TurnPlan, fields: Mapping[str, Any]) -> Window | None:
        """The window of the plan's model; `None` if unknown or if it does not limit the request."""
        requests = self.context.requests
        return (
            requests.window_of_client(_model(fields)) if plan.view.is_of_client else requests.window
        )

    def joins_messages(self, plan: TurnPlan, fields: Mapping[str, Any]) -> bool:
        """True if the plan's model needs consecutive messages of one role joined into one."""
        requests = self.context.requests
        if plan.view.is_of_client:
            return requests.order_of_client(_model(fields)) is not SpeakingOrder.ANY
        return requests.joins_messages

    async def offers_files(self, plan: TurnPlan) -> bool | None:
        """True if the next turn offers the file tools; `None` if the chat has no choice."""
        if plan.view.is_of_client or not self.files.is_open:
            return None
        return await self.files.are_offered(plan.state, plan.request)

    async def request(self, plan: TurnPlan) -> Request:
        """The request with the tools that a turn would offer; a client's has its own.

        Its images are empty, since their tokens are known without reading them.
        """
        request, requests = plan.request, self.context.requests
        if request.is_of_client:
            return request
        return replace(
            request,
            tools=tuple(await self.files.offered(plan.state, request)),
            as_text=self.gives_tools_as_text(),
            images=dict.fromkeys(requests.image_keys(request), ""),
            has_tools_behind=requests.puts_tools_behind,
        )

    async def with_added(self, plan: TurnPlan, fields: Mapping[str, Any]) -> TurnPlan:
        """The plan with the texts that tools and images add to its request; see `completed`."""
        if plan.view.is_of_client:
            return replace(plan, added=added_by_client(fields))
        return replace(plan, added=added_texts(await self.request(plan)))

    async def completed(
        self, plan: TurnPlan, *, streamed: bool = True, fields: Mapping[str, Any] = _NO_FIELDS
    ) -> TurnPlan:
        """The plan with the body that a turn would send, without the parts that do not fit.

        Args:
            streamed: True if the answer would come piece by piece.
            fields: All fields of another program's request except its messages.
        """
        if plan.view.is_of_client:
            return await self._of_client(plan, fields)
        whole, problem = await self.request(plan), ""
        try:
            made = await self.context.requests.completed(whole)
        except RequestTooLong as error:
            made, problem = whole, str(error)
        body = await asyncio.to_thread(self.context.requests.body, made, streamed=streamed)
        return replace(_as_made(plan, made), added=added_texts(made), body=body, problem=problem)

    async def _of_client(self, plan: TurnPlan, fields: Mapping[str, Any]) -> TurnPlan:
        """The completed plan of another program's request; we add no tools, limit or images."""
        window, added = self.window(plan, fields), added_by_client(fields)
        beside = added.tokens_beside(window.count) if window else 0
        order = self.context.requests.order_of_client(_model(fields))
        whole = replace(plan.request, order=order, beside=beside)
        try:
            made = await within(window, whole)
        except RequestTooLong:  # then all of it is sent, and the provider decides
            made = whole
        body = request_body(fields, await asyncio.to_thread(made.messages))
        return replace(_as_made(plan, made), added=added, body=body)


def _model(fields: Mapping[str, Any]) -> str:
    """The model that another program's request names; empty for none."""
    return str(fields.get("model") or "")


def _as_made(plan: TurnPlan, made: Request) -> TurnPlan:
    """The plan without the parts that were left out of its request."""
    left_out = {m.id for m in plan.decision.messages} - {m.id for m in made.history}
    lacks_attached = made.optional_prompt != plan.briefing.attached
    return plan.without(frozenset(left_out), lacks_attached=lacks_attached)
