"""The chats in the trash: listed, and removed for ever."""

import asyncio
import contextlib
from collections.abc import Callable, MutableMapping

from cachetools import LRUCache

from smart_context.base.disk.files import Signature, read_in, signature_in
from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place
from smart_context.base.errors import CommandFailed
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.documents.document import NotAChat, read_version
from smart_context.chat.listed.rows import MOST_LISTED, ChatRow, DeletedChat, damaged_row, row_of
from smart_context.chat.messages import ChatId
from smart_context.storage.files.trash import (
    TRASH,
    check_deletion,
    deletions,
    has_document,
    parsed_deletion,
    purge,
)


class FileTrash:
    """The deleted chats of one vault; satisfies `ChatTrash`.

    Every method raises `StoreFailed` when the system refuses. No link is followed, and nothing
    outside of the trash folder is removed.

    Args:
        chats: The folder of the chats.
        lock: Gives the lock of a chat.
    """

    def __init__(self, chats: Place, lock: Callable[[ChatId], asyncio.Lock]) -> None:
        self._chats = chats
        self._lock = lock
        self._rows: MutableMapping[tuple[str, Signature], ChatRow] = LRUCache(MOST_LISTED * 2)

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        """A person's deleted chats, newest first, at most `MOST_LISTED`, and the number of all."""
        if person != OWNER:  # all that is kept here is theirs
            return [], 0
        return await run_uncancelled(lambda: _listed(self._chats, self._rows))

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        """The ids of all of a person's deleted chats, however many."""
        if person != OWNER:  # all that is kept here is theirs
            return frozenset()
        names = await run_uncancelled(lambda: deletions(self._chats))
        return frozenset(parsed_deletion(name)[0] for name in names)

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        """Remove a deleted chat for ever; returns the number of deletions removed."""
        check_deletion(chat_id, deletion)
        async with self._lock(chat_id):
            return await run_uncancelled(lambda: purge(self._chats, chat_id, deletion))

    async def empty(self, person: PersonId, until: str = "") -> int:
        """Remove a person's deleted chats for ever; returns the number of deletions removed."""
        if person != OWNER:  # all that is kept here is theirs
            return 0
        removed = 0
        for name in await run_uncancelled(lambda: deletions(self._chats)):
            chat_id, deleted_at = parsed_deletion(name)
            if until and deleted_at > until:
                continue
            with contextlib.suppress(CommandFailed):  # restored or removed meanwhile
                removed += await self.purge(chat_id, name)
        return removed


def _listed(
    chats: Place, known: MutableMapping[tuple[str, Signature], ChatRow]
) -> tuple[list[DeletedChat], int]:
    names = deletions(chats)
    if not names:
        return [], 0
    found: list[DeletedChat] = []
    with opened(chats / TRASH) as trash:
        held = [name for name in names if has_document(trash, name, parsed_deletion(name)[0])]
        for name in held[:MOST_LISTED]:
            chat_id, deleted_at = parsed_deletion(name)
            with contextlib.suppress(OSError):  # restored or removed meanwhile
                row = _row(trash, name, chat_id, known)
                found.append(DeletedChat(name, chat_id, row.title, row.message_count, deleted_at))
    return found, len(held)


def _row(
    trash: Folder,
    name: str,
    chat_id: ChatId,
    known: MutableMapping[tuple[str, Signature], ChatRow],
) -> ChatRow:
    document = f"{chat_id}.json"
    with trash.folder(name) as deletion:
        signature = signature_in(deletion, document)
        if signature is None:
            raise FileNotFoundError(document)
        row = known.get((name, signature))
        if row is None:
            try:
                row = row_of(chat_id, read_version(read_in(deletion, document)[1]), signature)
            except NotAChat:
                row = damaged_row(chat_id, signature)
            known[name, signature] = row
    return row
