"""Repairs chats after a crash: unfinished answers that no process is writing any more."""

import asyncio
import logging
from dataclasses import dataclass, field

from smart_context.base.errors import CommandFailed, SmartContextError
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import OWNER, JsonObject
from smart_context.chat.messages import ChatId
from smart_context.host.events.events import CHAT_FAILED, Emit
from smart_context.host.turns import transcript
from smart_context.host.turns.turns import Turns
from smart_context.storage.ports import Answers, Chats

NEWEST_CHATS = 20
LOOK_EACH_S = 5.0

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Repair:
    """Puts the text of an unfinished answer into its chat, and marks it as interrupted.

    Answers that another process has claimed, since it is writing them, are left alone.
    """

    store: Chats
    answers: Answers
    turns: Turns
    emit: Emit  # tells clients that an answer that another server began has ended
    _repairing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def all(self) -> None:
        """Repair every chat that has a journal, then the newest chats.

        An answer may have no journal if no text had arrived; its chat was written just before the
        crash, so it is among the newest. Other chats are repaired when they are opened.
        """
        try:
            for chat_id in await run_uncancelled(self.answers.interrupted):
                await self._try(chat_id)
            for summary in (await self.store.listing.rows(OWNER))[:NEWEST_CHATS]:
                await self.chat(summary.id)
        except SmartContextError as error:
            _logger.warning("chats could not be repaired after a crash: %s", error)

    async def follow(self) -> None:
        """Repair the answers of other servers that have died, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EACH_S)
            try:
                for chat_id in await run_uncancelled(self.answers.interrupted):
                    if await self._try(chat_id):
                        ended = {"chat_id": chat_id, "error": transcript.INTERRUPTED}
                        self.emit(CHAT_FAILED, ended)
            except SmartContextError as error:
                _logger.warning("interrupted answers could not be looked for: %s", error)

    async def chat(self, chat_id: ChatId) -> None:
        """Repair one chat if it has an unfinished answer; a failure to write is logged.

        Raises:
            ChatUnreadable: If the chat is damaged.
            StoreFailed: If it can't be read.
        """
        if any(message.generating for message in await self.store.messages(chat_id)):
            await self._try(chat_id)

    async def _try(self, chat_id: ChatId) -> bool:
        """Repair a chat; returns True if there was an answer to be kept."""
        try:
            async with self._repairing:  # opening a chat waits for the repair at start
                if not self.turns.is_answered(chat_id):
                    await self.turns.save_unsaved(chat_id)
                    return await self._end_unfinished(chat_id)
        except (SmartContextError, OSError) as error:
            _logger.warning("chat %s could not be repaired after a crash: %s", chat_id, error)
        return False

    async def _end_unfinished(self, chat_id: ChatId) -> bool:
        interrupted = await run_uncancelled(lambda: self.answers.take_over(chat_id))
        if interrupted is None:
            return False
        left = interrupted.arrived
        try:

            def end(document: JsonObject) -> None:
                if left is not None:
                    transcript.restore_partial_answer(document, left)
                transcript.end_unfinished(document)

            try:
                await self.store.update(chat_id, end, creates=False)
                _logger.info("chat %s: an interrupted answer was kept", chat_id)
            except CommandFailed:
                if await self.store.exists(chat_id):
                    raise
            await run_uncancelled(interrupted.remove)
        finally:
            await run_uncancelled(interrupted.release)
        return True
