"""The phases of a turn, each published once, in order."""

import asyncio
import logging
from collections.abc import Callable

from smart_context.host.events.bus import EventBus
from smart_context.host.events.events import (
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
from smart_context.host.request.completion import RequestCompletion
from smart_context.host.request.tools import ToolSupport
from smart_context.host.tasks import was_cancelled
from smart_context.host.turn import Turn
from smart_context.host.turns.rounds import ask_model, unheard

_BEFORE_THE_MODEL = (
    PIPELINE_START,
    PIPELINE_INPUT,
    PIPELINE_CONTEXT,
    PIPELINE_PROMPT,
    PIPELINE_LLM,
)

_logger = logging.getLogger(__name__)


class Pipeline:
    """Takes turns through their phases.

    Args:
        models: Returns the current models; they may change between turns.
    """

    def __init__(
        self,
        bus: EventBus,
        models: Callable[[], Models],
        support: ToolSupport,
        completion: RequestCompletion,
    ) -> None:
        self._bus = bus
        self._models = models
        self._support = support
        self._completion = completion

    async def ask(
        self,
        turn: Turn,
        on_text: Callable[[str], None],
        on_step: Callable[[], None],
        on_thought: Callable[[str], None] = unheard,
    ) -> None:
        """Run the phases up to the model's answer, which goes to `turn.response`.

        The model is not asked if a handler aborts the turn or sets the response itself.

        Args:
            on_text: Gets the answer piece by piece as it arrives, or in one piece if the turn
                is not streaming; when this raises, it got all that arrived.
            on_step: Called after `turn.request.steps` grew; they include the text so far.
            on_thought: Gets what the model thinks before it answers, piece by piece.

        Raises:
            ModelFailed: If the model did not answer, or gave an empty answer.
        """
        await self.prepare(turn)
        if turn.aborted or turn.response is not None:
            return
        await ask_model(
            turn,
            self._models(),
            self._support,
            self._completion,
            on_text=on_text,
            on_step=on_step,
            on_thought=on_thought,
        )

    @property
    def has_no_model(self) -> bool:
        """True if passages are quoted in place of an answer."""
        return self._models().chat_is_embedded

    async def prepare(self, turn: Turn) -> None:
        """Run the phases before the model, until a handler aborts the turn."""
        for event in _BEFORE_THE_MODEL:
            if turn.aborted:
                return
            await self.publish(event, turn)
            if was_cancelled():  # a handler swallowed it, but the user did press stop
                raise asyncio.CancelledError

    async def post_process(self, turn: Turn) -> None:
        """Let handlers change the answer before it is saved."""
        await self.publish(PIPELINE_POST_PROCESS, turn)

    async def conclude(self, turn: Turn) -> None:
        """Tell handlers that the turn is over, and how it ended."""
        await self.publish(PIPELINE_ERROR if turn.error else PIPELINE_OUTPUT, turn)
        await self.publish(PIPELINE_END, turn)

    async def publish(self, event: Event[Turn], turn: Turn) -> None:
        """Publish a phase, and undo wrong entries that handlers left in the turn's lists."""
        await self._bus.publish(event, turn)
        try:
            _ = turn.request
        except TypeError as error:
            _logger.error("%s: %s; the lists are left as they were", event.name, error)  # noqa: TRY400 - the handler is gone from the traceback
            turn.undo_changes_in_place()
