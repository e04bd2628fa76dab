"""The requests that turns would make, for previews and replays; sends nothing."""

import asyncio
from dataclasses import dataclass, replace

from smart_context.base.errors import RequestTooLong
from smart_context.chat.messages import MessageId
from smart_context.host.plugins.api import PluginContext
from smart_context.host.request.request import Request
from smart_context.llm.models import PromptMessage
from smart_context.plugin.notes.file_offer import FileOffer


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """A request as it would be sent.

    Attributes:
        prompt: What the model would receive.
        left_out: Messages that do not fit into its window.
        lacks_contexts: The attached contexts do not fit.
        problem: Why it can't be sent, for people; empty if it can.
    """

    prompt: tuple[PromptMessage, ...]
    left_out: frozenset[MessageId] = frozenset()
    lacks_contexts: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RequestPlanner:
    """Makes requests as turns do, with the current tools and window.

    Attributes:
        context: The host.
        offer: The file tools that go with requests.
    """

    context: PluginContext
    offer: FileOffer

    async def plan(self, request: Request) -> PlannedRequest:
        """The request that a turn would send; `request` has no tools and images yet."""
        if request.is_of_client:  # we add no tools, no limit and no images
            return PlannedRequest(prompt=await asyncio.to_thread(request.messages))
        as_text = self.offer.is_fenced or not self.context.requests.takes_tools
        whole = replace(request, tools=tuple(self.offer.tools()), as_text=as_text)
        try:
            made = await self.context.requests.completed(whole)
        except RequestTooLong as error:
            return PlannedRequest(
                prompt=await asyncio.to_thread(whole.messages), problem=str(error)
            )
        return await asyncio.to_thread(_planned, request, made)


def _planned(request: Request, made: Request) -> PlannedRequest:
    had = {message.id for message in request.history}
    return PlannedRequest(
        prompt=made.messages(),
        left_out=frozenset(had - {message.id for message in made.history}),
        lacks_contexts=made.optional_prompt != request.optional_prompt,
    )
