"""The phases of a turn, each published once, in order (contract A4)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from smart_context.host.bus import EventBus, was_cancelled
from smart_context.host.events import (
    PIPELINE_CONTEXT,
    PIPELINE_END,
    PIPELINE_ERROR,
    PIPELINE_INPUT,
    PIPELINE_LLM,
    PIPELINE_OUTPUT,
    PIPELINE_POST_PROCESS,
    PIPELINE_PROMPT,
    PIPELINE_START,
    Event,
)
from smart_context.host.models import Models
from smart_context.host.request.tools import Tool, ToolSupport
from smart_context.host.turn import Turn, as_messages
from smart_context.host.turns.rounds import Rounds

BEFORE_THE_MODEL = (PIPELINE_START, PIPELINE_INPUT, PIPELINE_CONTEXT, PIPELINE_PROMPT, PIPELINE_LLM)

_logger = logging.getLogger(__name__)


class Pipeline:
    """Takes turns through their phases.

    Args:
        bus: Where the phases are published.
        models: Gives the models in use now; they may change between turns.
        support: Knows which models take no tools.
        prepare: Completes a turn right before the model is asked.
    """

    def __init__(
        self,
        bus: EventBus,
        models: Callable[[], Models],
        support: ToolSupport | None = None,
        prepare: Callable[[Turn], Awaitable[None]] | None = None,
    ) -> None:
        self._bus = bus
        self._prepare = prepare
        self._models = models
        self._support = support or ToolSupport()

    async def ask(
        self, turn: Turn, on_text: Callable[[str], None], on_step: Callable[[], None] = lambda: None
    ) -> None:
        """Everything up to the model's answer, which is left in `turn.response`.

        The model is not asked if a handler aborts the turn or sets the response itself.

        Args:
            turn: The turn.
            on_text: Gets the answer piece by piece as it arrives, or in one piece if the turn
                is not streaming; what it got is all that there is when this raises.
            on_step: Called when something was added to `turn.steps`; the text so far is in it.

        Raises:
            ModelFailed: If the model did not answer, or answered with nothing.
        """
        for event in BEFORE_THE_MODEL:
            if turn.aborted:
                return
            await self.publish(event, turn)
            if was_cancelled():  # a handler swallowed it; the user pressed stop all the same
                raise asyncio.CancelledError
        if turn.aborted or turn.response is not None:
            return
        if self._prepare is not None:
            await self._prepare(turn)
        model = self._models().chat
        rounds = Rounds(model, turn, self._support, on_text=on_text, on_step=on_step)
        turn.response = await rounds.answer()

    async def post_process(self, turn: Turn) -> None:
        """Let handlers change the answer before it is saved."""
        await self.publish(PIPELINE_POST_PROCESS, turn)

    async def conclude(self, turn: Turn) -> None:
        """Tell handlers that the turn is over: what came out, or what went wrong."""
        await self.publish(PIPELINE_ERROR if turn.error else PIPELINE_OUTPUT, turn)
        await self.publish(PIPELINE_END, turn)

    async def publish(self, event: Event[Turn], turn: Turn) -> None:
        """Publish a phase; values of a wrong type that a handler leaves are undone."""
        before: dict[str, Any] = {
            "history": list(turn.history),
            "message": turn.message,
            "system_prompt": turn.system_prompt,
            "response": turn.response,
            "metadata": turn.metadata,
            "tools": list(turn.tools),
        }
        await self._bus.publish(event, turn)
        try:
            turn.history = as_messages(turn.history)
        except TypeError as error:
            _logger.error("%s: the history is left as it was: %s", event.name, error)  # noqa: TRY400 - the handler is long gone from the traceback
            turn.history = before["history"]
        tools: object = turn.tools
        if not (isinstance(tools, list) and all(isinstance(tool, Tool) for tool in tools)):
            _logger.error("%s: turn.tools is left as it was: expected a list of Tool", event.name)
            turn.tools = before["tools"]
        for name in ("message", "system_prompt", "response", "metadata"):
            value, former = getattr(turn, name), before[name]
            allowed = dict if name == "metadata" else str
            if not isinstance(value, allowed) and not (name == "response" and value is None):
                found = type(value).__name__
                _logger.error("%s: turn.%s is left as it was: found %s", event.name, name, found)
                setattr(turn, name, former)
