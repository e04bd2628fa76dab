"""The chats on disk: written whole, and merged instead of overwritten (docs/chats.md).

One file for each chat, `<folder>/<chat_id>.json`. Callers get copies. Disk work runs in worker
threads. Changes of one chat are serialised: in this process by a lock for each chat, between
processes by comparing the file's state right before it is replaced. The first save makes the
folder.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from smart_context.base.disk.files import signature_of
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import ChatUnreadable, CommandFailed, StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import count_in_branches
from smart_context.chat.documents.document import Version, copy_json
from smart_context.chat.documents.lineage import ANYBODY, Lineage
from smart_context.chat.documents.merge import changed, saved
from smart_context.chat.documents.parts import Since, followed_by, part_since, whole
from smart_context.chat.ids import check_chat_id
from smart_context.chat.listed.rows import checked_title
from smart_context.chat.messages import ChatId, Message
from smart_context.storage.files.changes import FileChanges
from smart_context.storage.files.chat_files import ChatFiles, Damaged, RecentVersions, Stored
from smart_context.storage.files.deleted import FileTrash
from smart_context.storage.files.listing import FileList
from smart_context.storage.files.trash import check_deletion, move_back, move_to_trash

T = TypeVar("T")

_LOOKS_AT_DAMAGE = 15
_LOOK_PAUSE_S = 0.2
_COPIED_AT_ONCE = 100
"""The most messages that are copied in the event loop rather than in a thread."""


def _now() -> datetime:
    return datetime.now(UTC)


class FileChats:
    """The chats of one vault; satisfies `Chats`.

    Every method that takes a chat id raises `ChatIdInvalid` for a bad one and `StoreFailed` when
    the disk refuses. Those that read a damaged document set it aside and raise `ChatUnreadable`.

    Args:
        folder: The chats; need not exist.
        clock: The time, for the names of deleted chats and of files set aside.

    Attributes:
        listing: The list of chats, and the search in them.
        changes: Reports changes of chats.
        trash: The deleted chats.
    """

    def __init__(self, folder: Path | Place, *, clock: Callable[[], datetime] = _now) -> None:
        self._home = folder_of(folder)
        self._clock = clock
        self._files = ChatFiles(folder, clock)
        self._recent = RecentVersions()
        self._lineage = Lineage()
        self._locks: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()
        self.listing = FileList(self._home)
        self.changes = FileChanges(self._home, self._lock)
        self.trash = FileTrash(self._home, self._lock)

    async def load(self, chat_id: str, *, reader: str = ANYBODY) -> JsonObject:
        """The document; `{"messages": []}` for a chat that does not exist."""
        chat = check_chat_id(chat_id)
        version, document = await self._read(chat, lambda version: (version, version.copy()))
        self._lineage.loaded(chat, reader, version)
        return document

    async def messages(self, chat_id: str) -> tuple[Message, ...]:
        """The messages, oldest first. Only those that changed since the last call are parsed."""
        return await self._read(check_chat_id(chat_id), lambda version: version.messages)

    async def snapshot(self, chat_id: str) -> tuple[tuple[Message, ...], JsonObject]:
        """The messages, oldest first, and the document's other keys, from one version."""
        return await self._read(
            check_chat_id(chat_id),
            lambda version: (version.messages, copy_json(dict(version.other))),
        )

    async def value(self, chat_id: str, key: str) -> Any:
        """What the document has under one of its other keys; `None` for nothing."""
        return await self._read(
            check_chat_id(chat_id), lambda version: copy_json(version.other.get(key))
        )

    async def exists(self, chat_id: str) -> bool:
        """True if the chat has a file."""
        place = self._files.place(check_chat_id(chat_id))
        return await run_uncancelled(lambda: signature_of(place) is not None)

    async def save(
        self, chat_id: str, document: Mapping[str, Any], *, reader: str = ANYBODY
    ) -> JsonObject:
        """Store a whole document that a client loaded earlier and changed."""
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
            return await run_uncancelled(stored.version.copy)

    async def update(
        self,
        chat_id: str,
        change: Callable[[JsonObject], None],
        *,
        since: Since = whole,
        creates: bool = True,
    ) -> JsonObject:
        """Change the newest document, with no other change of this process in between."""
        chat = check_chat_id(chat_id)
        async with self._lock(chat):
            read = await self._newest(chat)
            if read is None and not creates:
                raise CommandFailed(f"There is no chat {chat!r}; it may have been deleted.")
            before = read.version if read else Version()
            first = since(before)
            part = part_since(before, first)
            is_short = len(part.entries) + count_in_branches(part.other) <= _COPIED_AT_ONCE
            document = part.copy() if is_short else await run_uncancelled(part.copy)
            change(document)

            def work() -> Stored | None:
                version = followed_by(before, first, changed(document, part))
                is_nothing = read is None and version.says_the_same(before)
                return None if is_nothing else self._put(chat, version, read)

            stored = await self._guarded(chat, work)
            self._note(chat, stored, read)
            if stored is None or first:
                return document
            return await run_uncancelled(stored.version.copy)

    async def rename(self, chat_id: str, title: str) -> str:
        """Give the chat a title of 1 to 200 characters; the result has single spaces."""
        chat, wanted = check_chat_id(chat_id), checked_title(title)
        await self.update(chat, lambda document: document.update(title=wanted), creates=False)
        return wanted

    async def delete(self, chat_id: str) -> None:
        """Move the chat and its side-cars to the trash folder."""
        chat = check_chat_id(chat_id)
        async with self._lock(chat):
            await run_uncancelled(lambda: move_to_trash(self._home, chat, self._clock()))
            self.changes.tell(chat, None)

    async def restore(self, chat_id: str, deletion: str = "") -> None:
        """Restore a deleted chat, by default the one that was last deleted under this id."""
        chat = check_chat_id(chat_id)
        check_deletion(chat, deletion)
        place = self._files.place(chat)
        async with self._lock(chat):
            await run_uncancelled(lambda: move_back(self._home, chat, deletion))
            self.changes.tell(chat, await run_uncancelled(lambda: signature_of(place)))

    async def close(self) -> None:
        """Forget the listeners, and keep the list of chats for the next start."""
        self.changes.close()
        await self.listing.close()

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
                return await run_uncancelled(work)
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
        target = await run_uncancelled(lambda: self._files.set_aside(chat, damaged))
        if target is None:
            return  # it changed meanwhile: read it again
        self.changes.tell(chat, None)
        raise ChatUnreadable(
            f"The chat {chat!r} could not be read: {damaged.reason}. Its file was set aside as "
            f"{target}, unchanged. Repair it and rename it to {chat}.json, or start a new chat."
        )

    def _put(self, chat: ChatId, version: Version, read: Stored | None) -> Stored:
        if read is not None and version.says_the_same(read.version):
            return read
        stored = self._files.put(chat, version, read)
        self.listing.put(chat, stored)
        return stored

    def _note(self, chat: ChatId, stored: Stored | None, read: Stored | None) -> None:
        if stored is not None and stored is not read:
            self._recent.put(chat, stored)
            self.changes.tell(chat, stored.signature)
