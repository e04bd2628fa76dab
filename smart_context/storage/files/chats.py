"""The chats on disk, one file for each, `<folder>/<chat_id>.json`.

The first save makes the folder.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from smart_context.base.disk.files import signature_of
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import ChatUnreadable, StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.chat.documents.document import Version
from smart_context.chat.messages import ChatId
from smart_context.storage.files.changes import FileChanges
from smart_context.storage.files.chat_files import ChatFileDamaged, ChatFiles, Stored
from smart_context.storage.files.listing import FileList
from smart_context.storage.files.trash import FileTrash, move_back, move_to_trash
from smart_context.storage.merging import ChatLocks, MergingChats
from smart_context.storage.names import check_deletion

T = TypeVar("T")

_LOOKS_AT_DAMAGE = 15
_LOOK_PAUSE_S = 0.2


def utc_now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


class FileChats(MergingChats[Stored]):
    """The chats of one vault; satisfies `Chats`.

    Every method that takes a chat id raises `ChatIdInvalid` for a bad one and `StoreFailed` when
    the disk refuses. Those that read a damaged document set it aside and raise `ChatUnreadable`.

    Args:
        folder: The chats; need not exist.
        clock: The time, for the names of deleted chats and of files set aside.
        has_people: Several people share the vault.
    """

    def __init__(
        self,
        folder: Path | Place,
        *,
        clock: Callable[[], datetime] = utc_now,
        has_people: bool = False,
    ) -> None:
        locks, home = ChatLocks(), folder_of(folder)
        trash = FileTrash(home, locks.of, has_people=has_people)
        super().__init__(FileVersions(home, locks, clock, trash), locks)


class FileVersions:
    """The documents of the chats; satisfies `VersionStore`."""

    def __init__(
        self, folder: Place, locks: ChatLocks, clock: Callable[[], datetime], trash: FileTrash
    ) -> None:
        self._home = folder
        self._clock = clock
        self._files = ChatFiles(folder, clock)
        self.listing = FileList(folder)
        self.changes = FileChanges(folder, locks.of)
        self.trash = trash

    def read(self, chat: ChatId, known: Stored | None) -> Stored | None:
        """The stored version; `known` itself if the file is unchanged."""
        return self._files.read(chat, known)

    def value(self, chat: ChatId, key: str, known: Stored | None) -> tuple[Any, Stored | None]:
        """One of the document's other values, and the version that was read for it."""
        stored = self._files.read(chat, known)
        return stored.version.other.get(key) if stored else None, stored

    def put(self, chat: ChatId, version: Version, read: Stored | None) -> Stored:
        stored = self._files.put(chat, version, read)
        self.listing.put(chat, stored)
        return stored

    def exists(self, chat: ChatId) -> bool:
        return signature_of(self._files.place(chat)) is not None

    def tell(self, chat: ChatId, stored: Stored) -> None:
        self.changes.tell(chat, stored.signature)

    async def delete(self, chat: ChatId) -> None:
        """Move the chat and its side-cars to the trash folder."""
        await run_uncancelled(lambda: move_to_trash(self._home, chat, self._clock()))
        self.changes.tell(chat, None)

    async def restore(self, chat: ChatId, deletion: str) -> None:
        check_deletion(chat, deletion)
        place = self._files.place(chat)
        await run_uncancelled(lambda: move_back(self._home, chat, deletion))
        self.changes.tell(chat, await run_uncancelled(lambda: signature_of(place)))

    async def close(self) -> None:
        """Remove the listeners, and store the list of chats for the next start."""
        self.changes.close()
        await self.listing.close()

    async def run(self, chat: ChatId, work: Callable[[], T]) -> T:
        """Run work in a thread; a damaged file is read again while it is fresh, then set aside."""
        for _ in range(_LOOKS_AT_DAMAGE):
            try:
                return await run_uncancelled(work)
            except ChatFileDamaged as error:
                damaged = error
            if damaged.is_fresh:
                await asyncio.sleep(_LOOK_PAUSE_S)
            else:
                await self._set_aside(chat, damaged)
        raise StoreFailed(
            f"{self._files.place(chat)} is being written by another program and can't be read yet. "
            "Try again in a moment."
        )

    async def _set_aside(self, chat: ChatId, damaged: ChatFileDamaged) -> None:
        target = await run_uncancelled(lambda: self._files.set_aside(chat, damaged))
        if target is None:
            return  # it changed meanwhile: read it again
        self.changes.tell(chat, None)
        raise ChatUnreadable(
            f"The chat {chat!r} could not be read: {damaged.reason}. Its file was set aside as "
            f"{target}, unchanged. Repair it and rename it to {chat}.json, or start a new chat."
        )
