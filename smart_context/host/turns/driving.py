"""Drives each turn from its question to its saved answer, whoever asks."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from smart_context.base.errors import CommandFailed, ModelFailed, SmartContextError
from smart_context.chat.messages import ChatId
from smart_context.host.turn import Turn
from smart_context.host.turns.transcript import INTERRUPTED

_logger = logging.getLogger(__name__)


class TurnSource(Protocol):
    """A question and the way of its answer: a page's message, or a client's request.

    Attributes:
        chat_id: The chat that is answered; empty for a request outside of chats.
        failure: Why the turn failed, for the caller; `None` if it did not.
    """

    chat_id: ChatId
    failure: Exception | None

    async def begin(self) -> Turn:
        """Make the turn, and the place of its answer.

        Raises:
            SmartContextError: If the chat can't be read or written.
        """

    async def ask(self, turn: Turn) -> None:
        """Ask for the answer, and pass on what arrives."""

    async def save(self, turn: Turn) -> None:
        """Save the answer as far as it has arrived; a failure is noted in the turn."""

    async def conclude(self, turn: Turn) -> None:
        """Tell plugins that the turn is over."""

    def close(self) -> None:
        """Leave the answer unsaved, for a repair."""

    def tell_the_end(self, turn: Turn) -> None:
        """Tell clients that the turn is over."""


async def drive(source: TurnSource, release: Callable[[], None]) -> None:
    """Take a turn from its question to its saved answer.

    All turns end in one order. The answer is saved before anybody hears of the end. Then plugins
    conclude the turn, which stores its receipt, while its chat is not free yet. Then the chat is
    released, even if something failed. Clients hear of the end last, since they may ask again at
    once.

    Args:
        release: Lets the chat take its next turn.
    """
    turn: Turn | None = None
    try:
        turn = await source.begin()
        with noting_failures(source, turn):
            await source.ask(turn)
        await source.save(turn)
        await source.conclude(turn)
    except BaseException as error:
        source.close()
        if turn is None and isinstance(error, SmartContextError):
            source.failure = error
            return
        if turn is not None:
            turn.error = turn.error or INTERRUPTED
        raise
    finally:
        release()
        if turn is not None:
            source.tell_the_end(turn)


@contextmanager
def noting_failures(source: TurnSource, turn: Turn) -> Iterator[None]:
    """Note in the turn why a block failed."""
    try:
        yield
    except SmartContextError as error:
        turn.error = str(error)
        turn.error_code = (error.status or 0) if isinstance(error, ModelFailed) else 0
        source.failure = error
    except Exception:
        _logger.exception("turn %s failed", turn.id)
        turn.error = "The turn failed unexpectedly; the log says more. Try again."
        source.failure = CommandFailed(turn.error)
