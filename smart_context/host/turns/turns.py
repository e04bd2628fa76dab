"""The running turns: at most one of a page in each chat, and any number of clients."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from smart_context.base.errors import ChatBusy
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.documents.document import Since, whole
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.tasks import StoppableTasks
from smart_context.host.turns.driving import TurnSource, drive
from smart_context.host.turns.page_source import PageSource, TurnParts

STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Turns:
    """Starts and stops turns."""

    parts: TurnParts
    stops: StoppableTasks  # other work that is stopped with a turn
    # the running turns by chat, which may have several of clients
    _running: dict[ChatId, dict[TurnSource, asyncio.Task[None]]] = field(
        default_factory=dict, init=False
    )

    @property
    def count(self) -> int:
        """The number of running turns."""
        return sum(map(len, self._running.values()))

    def under_way(self, chat_id: ChatId) -> PageSource | None:
        """The turn of a page in a chat; `None` if it has none now."""
        running = self._running.get(chat_id, ())
        return next((source for source in running if isinstance(source, PageSource)), None)

    def is_answered(self, chat_id: ChatId) -> bool:
        """True while a page or a client is answered in a chat."""
        return chat_id in self._running

    def problem(self, chat_id: ChatId) -> str:
        """The reason why the chat's last answer is not wholly saved; empty if it is."""
        found = self.under_way(chat_id)
        return found.answer.problem if found else self.parts.unsaved.problem(chat_id)

    async def save_unsaved(self, chat_id: ChatId) -> None:
        """Save the chat's last answer if that has failed before.

        Raises:
            SmartContextError: If it fails again.
        """
        await self.parts.unsaved.save(chat_id)

    def now(self) -> str:
        """The current time, in the form that messages have."""
        return self.parts.now()

    async def run(self, source: TurnSource) -> None:
        """Drive a turn; it goes on in the background if the caller is cancelled.

        Raises its `failure`, if there is one; the text so far is saved.
        """
        task = self.parts.tasks.spawn(drive(source, partial(self._release, source)))
        self._running.setdefault(source.chat_id, {})[source] = task
        await asyncio.shield(task)
        if source.failure is not None:
            raise source.failure

    async def take(
        self,
        chat_id: ChatId,
        ask: Callable[[JsonObject], Message],
        *,
        person: PersonId,
        since: Since = whole,
        streaming: bool,
        model: str = "",
        what_fits: bool = False,
    ) -> list[MessageId]:
        """Take one turn of a page; it goes on in the background if the caller is cancelled.

        Args:
            ask: Changes the chat's document so that the question is its last message, and returns
                the question.
            since: The first message that `ask` needs; all unfinished ones are after it.
            streaming: True if clients get the answer piece by piece.
            model: The model for this answer; empty for the chat's own.
            what_fits: Shorten the request until the model takes it.

        Returns:
            The ids of question and answer, when the turn is over and saved.

        Raises:
            ChatBusy: If the chat has a turn already.
            SmartContextError: If the turn failed, with the reason; the text so far is saved.
        """
        if self.under_way(chat_id):
            raise ChatBusy("this chat is still being answered; stop that first, or wait")
        source = PageSource(
            self.parts,
            chat_id,
            ask,
            person=person,
            since=since,
            streaming=streaming,
            model=model,
            what_fits=what_fits,
        )
        await self.run(source)
        return source.message_ids

    async def stop(self, chat_id: ChatId) -> bool:
        """Stop a chat's turn and wait until the text so far is saved; `False` if it has no turn."""
        others = self.stops.stop(chat_id)
        source = self.under_way(chat_id)
        if source is None:
            return others
        source.stop()
        await asyncio.wait([self._running[chat_id][source]], timeout=STOP_TIMEOUT_S)
        return True

    async def close(self, timeout_s: float) -> None:
        """Stop all turns and save their text so far, within the time given."""
        tasks: list[asyncio.Task[None]] = []
        for chat_id, running in self._running.items():
            tasks += running.values()
            if source := self.under_way(chat_id):
                source.stop()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)
        await self.parts.tasks.close()
        await self.parts.unsaved.close()

    def _release(self, source: TurnSource) -> None:
        running = self._running[source.chat_id]
        del running[source]
        if not running:
            del self._running[source.chat_id]
