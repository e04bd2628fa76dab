"""Keeps answers that could not be saved, and tries again until they are."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field

from smart_context.base.errors import CommandFailed, SmartContextError
from smart_context.base.threads import run_uncancelled
from smart_context.chat.messages import ChatId, Message
from smart_context.host.events.events import CHAT_UNSAVED, Emit
from smart_context.host.tasks import TaskOwner
from smart_context.host.turns import transcript
from smart_context.storage.ports import AnswerJournal, Chats

RETRY_S = 2.0

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnsavedAnswers:
    """The unsaved last answer of each chat."""

    store: Chats
    emit: Emit
    _kept: dict[ChatId, tuple[Message, AnswerJournal]] = field(default_factory=dict, init=False)
    _problems: dict[ChatId, str] = field(default_factory=dict, init=False)
    _tasks: TaskOwner = field(default_factory=lambda: TaskOwner("unsaved answers"), init=False)
    _saving: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def keep(self, chat_id: ChatId, answer: Message, journal: AnswerJournal, problem: str) -> None:
        """Keep an answer and the reason; its journal stays claimed until it is saved."""
        self._kept[chat_id] = (answer, journal)
        self._problems[chat_id] = problem
        self._tasks.latest("retry", self._retry())

    def problem(self, chat_id: ChatId) -> str:
        """The reason why the last answer of a chat is not saved; empty if it is."""
        return self._problems.get(chat_id, "")

    async def save(self, chat_id: ChatId) -> None:
        """Save the kept answer of a chat, if any; forget it if the chat was deleted.

        Raises:
            SmartContextError: If it can't be saved yet.
        """
        async with self._saving:
            if chat_id not in self._kept:
                return
            answer, journal = self._kept[chat_id]
            try:
                await self.store.update(
                    chat_id, lambda document: transcript.put(document, answer), creates=False
                )
            except CommandFailed:
                if await self.store.exists(chat_id):
                    raise
            await run_uncancelled(journal.finish)
            del self._kept[chat_id], self._problems[chat_id]
        self.emit(CHAT_UNSAVED, {"chat_id": chat_id, "problem": ""})
        _logger.info("chat %s: the answer is saved now", chat_id)

    async def close(self) -> None:
        """Try once more, then leave the journals for the next start."""
        await self._tasks.close()
        for chat_id in [*self._kept]:
            with suppress(SmartContextError):
                await self.save(chat_id)
        for _, journal in self._kept.values():
            journal.close()

    async def _retry(self) -> None:
        while self._kept:
            await asyncio.sleep(RETRY_S)
            for chat_id, (_, journal) in [*self._kept.items()]:
                await run_uncancelled(journal.flush)
                with suppress(SmartContextError):
                    await self.save(chat_id)
