"""The turns under way: at most one per chat."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from smart_context.base.errors import ChatBusy
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.documents.document import Since, whole
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.tasks import StoppableTasks
from smart_context.host.turns.answering import Answering, TurnParts

STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Turns:
    """Starts and stops turns."""

    parts: TurnParts
    stops: StoppableTasks  # other work that is stopped with a turn
    _under_way: dict[ChatId, tuple[Answering, asyncio.Task[None]]] = field(
        default_factory=dict, init=False
    )
    _for_clients: Counter[ChatId] = field(default_factory=Counter, init=False)

    @property
    def count(self) -> int:
        """The number of running turns."""
        return len(self._under_way)

    def under_way(self, chat_id: ChatId) -> Answering | None:
        """The turn of a chat; `None` if it has none now."""
        found = self._under_way.get(chat_id)
        return found and found[0]

    def is_answered(self, chat_id: ChatId) -> bool:
        """True while an answer is being written in a chat, by a turn or for a client."""
        return chat_id in self._under_way or chat_id in self._for_clients

    @contextmanager
    def answering_client(self, chat_id: ChatId) -> Iterator[None]:
        """Mark a chat as answered for a client without a turn; several may answer at once."""
        self._for_clients[chat_id] += 1
        try:
            yield
        finally:
            self._for_clients[chat_id] -= 1
            if not self._for_clients[chat_id]:
                del self._for_clients[chat_id]

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
        """Run one turn; it goes on in the background if the caller is cancelled.

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
        if chat_id in self._under_way:
            raise ChatBusy("this chat is still being answered; stop that first, or wait")
        answering = Answering(
            self.parts,
            chat_id,
            ask,
            person=person,
            since=since,
            streaming=streaming,
            model=model,
            what_fits=what_fits,
        )
        task = self.parts.tasks.spawn(self._run(answering))
        self._under_way[chat_id] = (answering, task)
        await asyncio.shield(task)
        if answering.failure is not None:
            raise answering.failure
        return answering.message_ids

    async def stop(self, chat_id: ChatId) -> bool:
        """Stop a chat's turn and wait until the text so far is saved; `False` if it has no turn."""
        others = self.stops.stop(chat_id)
        if chat_id not in self._under_way:
            return others
        answering, task = self._under_way[chat_id]
        answering.stop()
        await asyncio.wait([task], timeout=STOP_TIMEOUT_S)
        return True

    async def close(self, timeout_s: float) -> None:
        """Stop all turns and save their text so far, within the time given."""
        under_way = [*self._under_way.values()]
        for answering, _ in under_way:
            answering.stop()
        if under_way:
            await asyncio.wait([task for _, task in under_way], timeout=timeout_s)
        await self.parts.tasks.close()
        await self.parts.unsaved.close()

    async def _run(self, answering: Answering) -> None:
        try:
            await answering.run()
        finally:
            del self._under_way[answering.chat_id]
            answering.tell_the_end()
