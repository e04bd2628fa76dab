"""Mends what a crash left: answers that nobody is writing any more."""

import asyncio
import logging

from smart_context.chat.answer_journal import InterruptedAnswer
from smart_context.chat.messages import ChatId, JsonObject
from smart_context.chat.store import ChatStore
from smart_context.errors import SmartContextError
from smart_context.host import transcript
from smart_context.host.turns import Turns

NEWEST_CHATS = 20

_logger = logging.getLogger(__name__)


class Repair:
    """Puts the text that had arrived of an answer into its chat and marks it as interrupted.

    Args:
        store: Where chats are kept.
        turns: Knows which answers are still being written.
    """

    def __init__(self, store: ChatStore, turns: Turns) -> None:
        self._store = store
        self._turns = turns

    async def all(self) -> None:
        """Mend every chat that has a journal, then the newest chats.

        An answer of which nothing had arrived has no journal; its chat was written to just
        before the crash, so it is among the newest. Any others are mended when opened.
        """
        try:
            for answer in await self._store.interrupted():
                await self._put_back(answer)
            for summary in (await self._store.list_chats())[:NEWEST_CHATS]:
                await self.chat(summary.id)
        except SmartContextError as error:
            _logger.warning("chats could not be mended after a crash: %s", error)

    async def chat(self, chat_id: ChatId) -> None:
        """Mend one chat; an answer that is under way stays.

        Raises:
            ChatUnreadable: If the chat is damaged.
            StoreFailed: If it can't be read or written.
        """
        if self._turns.under_way(chat_id) is not None:
            return
        if not any(message.generating for message in await self._store.messages(chat_id)):
            return
        for answer in await self._store.interrupted():
            if answer.chat_id == chat_id:
                await self._put_back(answer)

        def end(document: JsonObject) -> None:
            answering = self._turns.under_way(chat_id)
            except_id = answering.message_id if answering else None
            transcript.end_unfinished(document, except_id=except_id)

        await self._store.update(chat_id, end)

    async def _put_back(self, answer: InterruptedAnswer) -> None:
        if self._turns.under_way(answer.chat_id) is not None:
            return
        if await self._store.exists(answer.chat_id):
            await self._store.update(
                answer.chat_id,
                lambda document: transcript.put_back(document, answer),
            )
            _logger.info("chat %s: an interrupted answer was kept", answer.chat_id)
        await asyncio.to_thread(answer.discard)
