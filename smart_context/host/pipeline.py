"""The phases of a turn, each published once, in order (contract A4)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from smart_context.errors import ModelFailed
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
from smart_context.host.prompt import prompt_messages
from smart_context.host.turn import Turn, as_messages
from smart_context.llm.models import Piece

BEFORE_THE_MODEL = (PIPELINE_START, PIPELINE_INPUT, PIPELINE_CONTEXT, PIPELINE_PROMPT, PIPELINE_LLM)

_logger = logging.getLogger(__name__)


class Pipeline:
    """Takes turns through their phases.

    Args:
        bus: Where the phases are published.
        models: Gives the models in use now; they may change between turns.
    """

    def __init__(self, bus: EventBus, models: Callable[[], Models]) -> None:
        self._bus = bus
        self._models = models

    async def ask(self, turn: Turn, on_text: Callable[[str], None]) -> None:
        """Everything up to the model's answer, which is left in `turn.response`.

        The model is not asked if a handler aborts the turn or sets the response itself.

        Args:
            turn: The turn.
            on_text: Gets the answer piece by piece as it arrives, or in one piece if the turn
                is not streaming; what it got is all that there is when this raises.

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
        turn.sent = prompt_messages(turn.system_prompt, turn.history, turn.message)
        turn.response = await self._answer(turn, on_text)

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
        }
        await self._bus.publish(event, turn)
        try:
            turn.history = as_messages(turn.history)
        except TypeError as error:
            _logger.error("%s: the history is left as it was: %s", event.name, error)  # noqa: TRY400 - the handler is long gone from the traceback
            turn.history = before["history"]
        for name in ("message", "system_prompt", "response", "metadata"):
            value, former = getattr(turn, name), before[name]
            allowed = dict if name == "metadata" else str
            if not isinstance(value, allowed) and not (name == "response" and value is None):
                found = type(value).__name__
                _logger.error("%s: turn.%s is left as it was: found %s", event.name, name, found)
                setattr(turn, name, former)

    async def _answer(self, turn: Turn, on_text: Callable[[str], None]) -> str:
        model = self._models().chat
        texts: list[str] = []
        if turn.streaming:
            async with _closing(model.stream(turn.sent)) as pieces:
                async for piece in pieces:
                    turn.usage = piece.usage or turn.usage
                    if piece.text:
                        texts.append(piece.text)
                        on_text(piece.text)
        else:
            completion = await model.complete(turn.sent)
            turn.usage = completion.usage
            texts.append(completion.text)
            on_text(completion.text)
        text = "".join(texts)
        if not text.strip():
            raise ModelFailed(f"{model.name} gave an empty answer; try again or ask otherwise.")
        return text


@asynccontextmanager
async def _closing(pieces: AsyncIterator[Piece]) -> AsyncIterator[AsyncIterator[Piece]]:
    """Close a stream at the end, which cancels the request; not all iterators need it."""
    try:
        yield pieces
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()
