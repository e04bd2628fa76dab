"""The requests that turns would make, for those who show or repeat them without sending any."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from smart_context.chat.messages import MessageId
from smart_context.errors import RequestTooLong
from smart_context.host.plugins.api import PluginContext
from smart_context.host.request.request import Request
from smart_context.host.request.tools import Tool
from smart_context.llm.models import PromptMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A request as it would be sent.

    Attributes:
        prompt: What the model would receive.
        left_out: Messages that had to go to keep within its window.
        lacks_contexts: The attached contexts had to go.
        problem: Why it can't be sent, for people; empty if it can.
    """

    prompt: tuple[PromptMessage, ...]
    left_out: frozenset[MessageId] = frozenset()
    lacks_contexts: bool = False
    problem: str = ""


class Requests:
    """Makes requests as turns do: with the tools of now, within the window of now.

    Args:
        context: The host.
        tools: Gives what the model may ask for.
        is_fenced: Gives whether that is done in plain text by choice.
    """

    def __init__(
        self,
        context: PluginContext,
        tools: Callable[[], Sequence[Tool]],
        is_fenced: Callable[[], bool],
    ) -> None:
        self._context = context
        self._tools = tools
        self._is_fenced = is_fenced

    async def planned(self, request: Request) -> Planned:
        """What would become of a request that has its texts, but no tools and images yet."""
        as_text = self._is_fenced() or not self._context.requests.takes_tools
        whole = replace(request, tools=tuple(self._tools()), as_text=as_text)
        try:
            made = await self._context.requests.completed(whole)
        except RequestTooLong as error:
            return Planned(prompt=await asyncio.to_thread(whole.messages), problem=str(error))
        return await asyncio.to_thread(_planned, request, made)


def _planned(request: Request, made: Request) -> Planned:
    had = {message.id for message in request.history}
    return Planned(
        prompt=made.messages(),
        left_out=frozenset(had - {message.id for message in made.history}),
        lacks_contexts=made.optional_prompt != request.optional_prompt,
    )
