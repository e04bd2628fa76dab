"""The record on disk of the answers that a key's chats got."""

import asyncio
import json
from contextlib import suppress

from smart_context.base.errors import StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.gateway.asides import RequestFrame
from smart_context.gateway.identity.issued import (
    ChatOpening,
    IssuedAnswer,
    IssuedAnswers,
    as_row,
    read_row,
)
from smart_context.storage.ports import Logs

KIND = "clients"


class IssuedRecord:
    """The answers of one key, in a log that several servers may add to.

    Attributes:
        issued: The answers, as of the last `refresh`.
    """

    def __init__(self, logs: Logs, key: str) -> None:
        self.issued = IssuedAnswers()
        self._log = logs.of_vault(KIND, key)
        self._read = 0
        self._lock = asyncio.Lock()

    async def refresh(self) -> None:
        """Read the lines that were added; damaged ones are skipped."""
        async with self._lock:
            with suppress(StoreFailed):
                lines, self._read = await self._log.since(self._read)
                if lines:
                    await run_uncancelled(lambda: self._take_in(lines))

    def _take_in(self, lines: list[bytes]) -> None:
        for line in lines:
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                self._note(line)

    def _note(self, line: bytes) -> None:
        row = json.loads(line)
        if "seen" in row:
            self.issued.see(str(row["seen"]))
        elif "framed" in row:
            self.issued.frames[str(row["framed"])] = RequestFrame.from_row(row)
        elif "chat" in row:
            self.issued.note(read_row(row))
        else:
            self.issued.got(str(row["response"]))

    async def add(self, *rows: IssuedAnswer | ChatOpening) -> None:
        """Add answers, or the opening of a chat.

        Raises:
            StoreFailed: If storage refuses.
        """
        await self._append([as_row(row) for row in rows])

    async def see(self, chat: str) -> None:
        """Note, once per chat, that a client sent back one of its answers.

        Raises:
            StoreFailed: If storage refuses.
        """
        if self.issued.see(chat):
            await self._append([{"seen": chat}])

    async def frame(self, chat: str, frame: RequestFrame) -> None:
        """Store the frame of a chat's turns if it has changed.

        Raises:
            StoreFailed: If storage refuses.
        """
        known = self.issued.frames.get(chat)
        if known is None or not frame.is_like(known):
            await self._append([{"framed": chat, **frame.as_row()}])

    async def got(self, response: str) -> None:
        """Note a response that is in no chat.

        Raises:
            StoreFailed: If storage refuses.
        """
        if response not in self.issued.by_response:
            await self._append([{"response": response}])

    async def _append(self, rows: list[dict[str, object]]) -> None:
        await self._log.append(*(json.dumps(row, separators=(",", ":")).encode() for row in rows))
        await self.refresh()
