"""Chats on disk: whole, never half; merged, never overwritten (contract A5).

One file per chat, `<folder>/<chat_id>.json`. What is handed out is a copy that its receiver may
change at will. All disk work is done in worker threads; changes of one chat follow each other,
in this process by a lock per chat, between processes by looking at the file's state right before
it is replaced. The folder is made by the first save and not before.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from smart_context.chat.answers.journal import interrupted_chats
from smart_context.chat.documents.document import Version, copy_json
from smart_context.chat.documents.lineage import ANYBODY, Lineage
from smart_context.chat.documents.saving import changed, saved
from smart_context.chat.files.chat_files import ChatFiles, Damaged, RecentVersions, Stored
from smart_context.chat.ids import check_chat_id, new_chat_id, sidecar_name
from smart_context.chat.listed.changes import Changes, Listener
from smart_context.chat.listed.listing import Listing
from smart_context.chat.listed.rows import ChatSummary
from smart_context.chat.listed.search import ChatHit
from smart_context.chat.listed.watching import LOOK_AGAIN_S, changed_chats
from smart_context.chat.messages import ChatId, Message
from smart_context.chat.threads import to_end
from smart_context.chat.trash import move_back, move_to_trash
from smart_context.disk.files import signature_of
from smart_context.disk.places import Place, folder_of
from smart_context.errors import ChatUnreadable, CommandFailed, InvalidParams, StoreFailed
from smart_context.values import JsonObject

__all__ = ["ChatHit", "ChatStore", "ChatSummary", "check_chat_id", "new_chat_id"]

T = TypeVar("T")

MAX_TITLE_LENGTH = 200
_LOOKS_AT_DAMAGE = 15
_LOOK_PAUSE_S = 0.2


def _now() -> datetime:
    return datetime.now(UTC)


class ChatStore:
    """The chats of one vault.

    Args:
        folder: Where they are; need not exist.
        clock: Stamps what is deleted or set aside.

    Attributes:
        home: The folder as a place: opened that way, no link leads out of the vault.
        folder: Its path.

    Every method that takes a chat id raises `ChatIdInvalid` for a bad one and `StoreFailed` when
    the disk refuses; those that read the document raise `ChatUnreadable` once it was set aside.
    """

    def __init__(self, folder: Path | Place, *, clock: Callable[[], datetime] = _now) -> None:
        self.home = folder_of(folder)
        self.folder = self.home.path
        self._clock = clock
        self._files = ChatFiles(folder, clock)
        self._recent = RecentVersions()
        self._lineage = Lineage()
        self._listing = Listing(self.home)
        self._list_lock = asyncio.Lock()
        self._locks: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()
        self._changes = Changes(self.home)

    async def load(self, chat_id: str, *, reader: str = ANYBODY) -> JsonObject:
        """The document; `{"messages": []}` for a chat that does not exist.

        A damaged file is set aside and reported; the next load finds no chat.

        Args:
            chat_id: The chat.
            reader: Who loads it, such as a client's id. A later `save` by the same reader is
                compared with what that reader has seen.
        """
        chat = check_chat_id(chat_id)
        version, document = await self._read(chat, lambda version: (version, version.copy()))
        self._lineage.loaded(chat, reader, version)
        return document

    async def messages(self, chat_id: str) -> tuple[Message, ...]:
        """The messages, oldest first; only those that changed since the last call are read."""
        return await self._read(check_chat_id(chat_id), lambda version: version.messages)

    async def snapshot(self, chat_id: str) -> tuple[tuple[Message, ...], JsonObject]:
        """The messages, oldest first, and the other keys, of one version; copies no message."""
        return await self._read(
            check_chat_id(chat_id),
            lambda version: (version.messages, copy_json(dict(version.other))),
        )

    async def exists(self, chat_id: str) -> bool:
        """Whether the chat has a file."""
        place = self._files.place(check_chat_id(chat_id))
        return await to_end(lambda: signature_of(place) is not None)

    async def save(
        self, chat_id: str, document: Mapping[str, Any], *, reader: str = ANYBODY
    ) -> JsonObject:
        """Store a whole document that a client loaded earlier and changed.

        What happened to the chat since the client loaded it is kept: messages that arrived,
        edits, and the keys that the client did not touch. A message that is missing from
        `document` is deleted if the version that the client started from had it (see
        `chat/lineage.py` for how that is told) and nobody edited it since. A document without
        `messages` leaves the messages as they are.

        Args:
            chat_id: The chat; made when it does not exist.
            document: All of it, as it shall be.
            reader: Who saves it; as for `load`.

        Returns:
            What is stored now.

        Raises:
            InvalidParams: `document` is not JSON, or its `messages` is no list.
        """
        chat = check_chat_id(chat_id)
        async with self._lock(chat):
            read = await self._newest(chat)
            ancestry = self._lineage.of(chat, reader)

            def work() -> tuple[Version, Stored]:
                ours, merged = saved(document, ancestry, read.version if read else None)
                return ours, self._put(chat, merged, read)

            ours, stored = await self._guarded(chat, work)
            self._lineage.sent(chat, reader, ours)
            if not stored.version.says_the_same(ours):
                self._lineage.returned(chat, reader, stored.version)
            self._note(chat, stored, read)
            return await to_end(stored.version.copy)

    async def update(self, chat_id: str, change: Callable[[JsonObject], None]) -> JsonObject:
        """Change the newest document; nobody else changes it in between.

        Args:
            chat_id: The chat; made when it does not exist.
            change: Called once, in the event loop, with a copy that it changes in place. If it
                raises, nothing is stored. If it changes nothing, nothing is written.

        Returns:
            What is stored now, another program's changes included.

        Raises:
            InvalidParams: `change` left something that is not JSON.
        """
        chat = check_chat_id(chat_id)
        async with self._lock(chat):
            read = await self._newest(chat)
            before = read.version if read else Version()
            document = await to_end(before.copy)
            change(document)

            def work() -> Stored | None:
                version = changed(document, before)
                is_nothing = read is None and version.says_the_same(before)
                return None if is_nothing else self._put(chat, version, read)

            stored = await self._guarded(chat, work)
            self._note(chat, stored, read)
            return await to_end(stored.version.copy) if stored else document

    async def list_chats(self) -> list[ChatSummary]:
        """All chats, newest first; only files that changed since the last call are read."""
        async with self._list_lock:
            return await to_end(self._listing.summaries)

    async def search(self, query: str, limit: int = 50) -> list[ChatHit]:
        """Where all words of the query stand in one message or title, newest chats first.

        Case, width and composition of characters do not matter. At most `limit` hits, at most
        20 of one chat; none for an empty query.
        """
        async with self._list_lock:
            return await to_end(lambda: self._listing.search(query, limit))

    async def rename(self, chat_id: str, title: str) -> None:
        """Give the chat a title of 1 to 200 characters; white space around it goes.

        Raises:
            InvalidParams: The title is empty or too long.
            CommandFailed: There is no such chat.
        """
        chat, wanted = check_chat_id(chat_id), " ".join(title.split())
        if not 1 <= len(wanted) <= MAX_TITLE_LENGTH:
            raise InvalidParams(
                f"A title has 1 to {MAX_TITLE_LENGTH} characters; found {len(wanted)}."
            )
        if not await self.exists(chat):
            raise CommandFailed(f"There is no chat {chat!r} to rename.")
        await self.update(chat, lambda document: document.update(title=wanted))

    async def delete(self, chat_id: str) -> None:
        """Move the chat and its side-cars to the trash folder.

        Raises:
            CommandFailed: There is no such chat.
        """
        chat = check_chat_id(chat_id)
        async with self._lock(chat):
            await to_end(lambda: move_to_trash(self.home, chat, self._clock()))
            self._changes.tell(chat, None)

    async def restore(self, chat_id: str) -> None:
        """Bring back what was deleted last under that id.

        Raises:
            CommandFailed: It is not in the trash, or a chat of that id exists again.
        """
        chat = check_chat_id(chat_id)
        place = self._files.place(chat)
        async with self._lock(chat):
            await to_end(lambda: move_back(self.home, chat))
            self._changes.tell(chat, await to_end(lambda: signature_of(place)))

    def sidecar(self, chat_id: str, suffix: str) -> Path:
        """The path of a file that is deleted and restored with its chat.

        Raises:
            ValueError: If the suffix is `json` or more than lower-case letters, digits, `-`, `_`
                and single dots between them.
        """
        return self.place(chat_id, suffix).path

    def place(self, chat_id: str, suffix: str) -> Place:
        """The same file as a place: opened that way, nobody is led out of the vault by a link.

        Raises:
            ValueError: As `sidecar`.
        """
        return self.home / sidecar_name(check_chat_id(chat_id), suffix)

    async def interrupted(self) -> Sequence[ChatId]:
        """The chats whose answer a killed process left unfinished."""
        return await to_end(lambda: interrupted_chats(self.home))

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` in the event loop after each stored change of any chat.

        Other programs' changes are reported while `watch` runs.

        Returns:
            What ends it; calling it twice is no harm.
        """
        return self._changes.on_change(listener)

    def on_sidecar_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after a JSON side-car of a chat changed, while `watch` runs.

        Whoever changed it: our own changes are reported too, and some reports are of none.

        Returns:
            What ends it; calling it twice is no harm.
        """
        return self._changes.on_sidecar_change(listener)

    async def watch(self, *, look_again_s: float = LOOK_AGAIN_S) -> None:
        """Report what other programs change, until cancelled; copes with a missing folder."""
        await to_end(self._changes.begin)
        reports = changed_chats(self.home, look_again_s=look_again_s)
        async with contextlib.aclosing(reports) as changes:
            async for touched in changes:
                await self._report(None if touched is None else touched.documents)
                for chat in sorted(touched.sidecars if touched else ()):
                    self._changes.tell_of_sidecar(chat)

    async def close(self) -> None:
        """Keep what makes the next start quick, and forget the listeners."""
        self._changes.close()
        await to_end(self._listing.keep_index)

    def _lock(self, chat: ChatId) -> asyncio.Lock:
        return self._locks.setdefault(chat, asyncio.Lock())

    async def _newest(self, chat: ChatId) -> Stored | None:
        known = self._recent.get(chat)
        stored = await self._guarded(chat, lambda: self._files.read(chat, known))
        self._recent.put(chat, stored)
        return stored

    async def _read(self, chat: ChatId, view: Callable[[Version], T]) -> T:
        known = self._recent.get(chat)

        def work() -> tuple[Stored | None, T]:
            stored = self._files.read(chat, known)
            return stored, view(stored.version if stored else Version())

        stored, seen = await self._guarded(chat, work)
        self._recent.put(chat, stored)
        return seen

    async def _guarded(self, chat: ChatId, work: Callable[[], T]) -> T:
        for _ in range(_LOOKS_AT_DAMAGE):
            try:
                return await to_end(work)
            except Damaged as error:
                damaged = error
            if damaged.is_fresh:
                await asyncio.sleep(_LOOK_PAUSE_S)
            else:
                await self._set_aside(chat, damaged)
        raise StoreFailed(
            f"{self._files.place(chat)} is being written by another program and can't be read yet. "
            "Try again in a moment."
        )

    async def _set_aside(self, chat: ChatId, damaged: Damaged) -> None:
        target = await to_end(lambda: self._files.set_aside(chat, damaged))
        if target is None:
            return  # it was changed: look again
        self._changes.tell(chat, None)
        raise ChatUnreadable(
            f"The chat {chat!r} could not be read: {damaged.reason}. Its file was set aside as "
            f"{target}, unchanged. Repair it and name it {chat}.json again, or start anew."
        )

    def _put(self, chat: ChatId, version: Version, read: Stored | None) -> Stored:
        if read is not None and version.says_the_same(read.version):
            return read
        stored = self._files.put(chat, version, read)
        self._listing.put(chat, stored)
        return stored

    def _note(self, chat: ChatId, stored: Stored | None, read: Stored | None) -> None:
        if stored is None or stored is read:
            return
        self._recent.put(chat, stored)
        self._changes.tell(chat, stored.signature)

    async def _report(self, chats: frozenset[ChatId] | None) -> None:
        for chat in sorted(await to_end(self._changes.untold) if chats is None else chats):
            async with self._lock(chat):  # our own writer tells before it lets go
                is_news, signature = await to_end(partial(self._changes.news_of, chat))
                if is_news:
                    self._changes.tell(chat, signature)
