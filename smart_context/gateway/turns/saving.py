"""Questions and answers that are still being saved while their client goes on."""

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass, field

from smart_context.base.errors import SmartContextError
from smart_context.gateway.turns.document import RecordingPlan
from smart_context.host.turns.arriving import AnswerNews

PATIENCE_S = 2.0
"""Maximum time that a request waits until the key's earlier answers are saved."""

_FIRST_S = 0.01
"""Time that storing waits for sending, since both need the processor."""

_logger = logging.getLogger(__name__)


class PendingSaves:
    """Answers that have ended for the client but are not saved yet, by key.

    A client may send its next request at once; that one waits until they are saved.
    """

    def __init__(self) -> None:
        self._saving: dict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def begin(self, key: str) -> asyncio.Future[None]:
        """Register an answer that has ended; set the result once it is saved."""
        ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._saving[key].add(ending)
        ending.add_done_callback(self._saving[key].discard)
        return ending

    async def settled(self, key: str) -> None:
        """Wait until the answers of a key are saved, at most `PATIENCE_S`."""
        if waiting := self._saving[key]:
            await asyncio.wait([*waiting], timeout=PATIENCE_S)


@dataclass(eq=False)
class QuestionSaving:
    """Saves a question while the provider answers it."""

    plan: RecordingPlan | None  # saves the question; `None` if it is saved already
    news: AnswerNews  # announces the answer once its place is in the chat
    pending_saves: PendingSaves  # holds back the client's next request
    key: str  # the client's key
    _writing: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin to save the question; further calls do nothing."""
        if self.plan is None:
            self.news.begin()
        elif self._writing is None:
            self._writing = asyncio.create_task(self._write(self.plan))

    async def settled(self) -> None:
        """Wait until the question is saved or has failed; saving the answer reports a failure."""
        self.start()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self, plan: RecordingPlan) -> None:
        ending = self.pending_saves.begin(self.key)
        try:
            await asyncio.sleep(_FIRST_S)
            await plan.record()
        except SmartContextError as error:
            _logger.warning("chat %s: the question is not saved: %s", plan.chat.id, error)
        finally:
            ending.set_result(None)
        self.news.begin()
