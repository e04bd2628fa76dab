"""The phases of a turn, each published once, in order."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

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
from smart_context.host.turns.rounds import AnswerListeners, Rounds
from smart_context.llm.offline.stored import StoredAnswer
from smart_context.storage.ports import Storage

_BEFORE_THE_MODEL = (
    PIPELINE_START,
    PIPELINE_INPUT,
    PIPELINE_CONTEXT,
    PIPELINE_PROMPT,
    PIPELINE_LLM,
)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Takes turns through their phases."""

    bus: EventBus
    models: Callable[[], Models]  # gives the current models; they may change between turns
    support: ToolSupport
    completion: RequestCompletion
    storage: Storage  # of all people; a turn's images are those that its person may see

    async def ask(self, turn: Turn, heard: AnswerListeners) -> None:
        """Run the phases up to the model's answer, which goes to `turn.response`.

        The model is not asked if a handler aborts the turn or sets the response itself.

        Raises:
            ModelFailed: If the model did not answer, or gave an empty answer; the listeners got the
                text that arrived.
        """
        await self.prepare(turn)
        if not turn.aborted and turn.response is None:
            await self.ask_model(turn, heard)

    async def ask_model(self, turn: Turn, heard: AnswerListeners) -> None:
        """Ask the chat model a turn's request, without any phase.

        Raises:
            ModelFailed: If the model did not answer, or gave an empty answer.
        """
        models = self.models()
        turn.window = self.completion.window
        if turn.sends_what_fits and (
            fits := self.completion.fitting_window(self.completion.endpoint())
        ):
            turn.window, turn.refused_above = fits, fits.tokens
        turn.request = await self.completion.with_images(
            turn.request, self.storage.for_person(turn.person).blobs
        )
        turn.is_extracted = models.chat_is_embedded
        is_stored = turn.is_extracted and turn.stored_answer
        rounds = Rounds(
            model=StoredAnswer(turn.stored_answer) if is_stored else models.chat,
            turn=turn,
            support=self.support,
            heard=heard,
            completion=self.completion,
        )
        turn.response = await rounds.answer()
        await self.completion.keep_guess(turn.window, self.completion.endpoint())

    @property
    def has_no_model(self) -> bool:
        """True if passages are quoted instead of a model's answer."""
        return self.models().chat_is_embedded

    async def prepare(self, turn: Turn) -> None:
        """Run the phases before the model, until a handler aborts the turn."""
        await self.completion.ask()
        for event in _BEFORE_THE_MODEL:
            if turn.aborted:
                return
            await self.publish(event, turn)
            if was_cancelled():  # a handler swallowed the cancellation by the user's stop
                raise asyncio.CancelledError

    async def post_process(self, turn: Turn) -> None:
        """Let handlers change the answer before it is saved."""
        await self.publish(PIPELINE_POST_PROCESS, turn)

    async def conclude(self, turn: Turn) -> None:
        """Tell handlers that the turn is over, with its outcome."""
        await self.publish(PIPELINE_ERROR if turn.error else PIPELINE_OUTPUT, turn)
        await self.publish(PIPELINE_END, turn)

    async def publish(self, event: Event[Turn], turn: Turn) -> None:
        """Publish a phase, and undo wrong entries that handlers left in the turn's lists."""
        await self.bus.publish(event, turn)
        try:
            _ = turn.request
        except TypeError as error:
            _logger.error("%s: %s; the lists are left as they were", event.name, error)  # noqa: TRY400 - the handler is gone from the traceback
            turn.undo_changes_in_place()
