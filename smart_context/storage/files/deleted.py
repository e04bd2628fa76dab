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
from smart_context.storage.deletions import check_deletion, parsed_deletion
from smart_context.storage.files.trash import (
    TRASH,
    deletions,
    has_document,
    purge,
)

_MOST_ROWS = 20_000


class FileTrash:
    """The deleted chats of one vault; satisfies `ChatTrash`.

    Every method raises `StoreFailed` when the system refuses. No link is followed, and nothing
    outside of the trash folder is removed.

    Args:
        chats: The folder of the chats.
        lock: Gives the lock of a chat.
        has_people: Look whose each chat is, for which all must be read; else all are the owner's.
    """

    def __init__(
        self, chats: Place, lock: Callable[[ChatId], asyncio.Lock], *, has_people: bool = False
    ) -> None:
        self._chats = chats
        self._lock = lock
        self._has_people = has_people
        most = _MOST_ROWS if has_people else MOST_LISTED * 2
        self._rows: MutableMapping[tuple[str, Signature], ChatRow] = LRUCache(most)

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        """A person's deleted chats, newest first, at most `MOST_LISTED`, and the number of all."""
        names = await self._deletions(person)
        return await run_uncancelled(lambda: _listed(self._chats, names, self._rows))

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        """The ids of all of a person's deleted chats, however many."""
        return frozenset(parsed_deletion(name)[0] for name in await self._deletions(person))

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        """Whose the chat was that was last deleted under an id; `None` if there is none."""
        return await run_uncancelled(lambda: self._person_of(chat_id))

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        """Remove a deleted chat for ever; returns the number of deletions removed."""
        check_deletion(chat_id, deletion)
        async with self._lock(chat_id):
            return await run_uncancelled(lambda: purge(self._chats, chat_id, deletion))

    async def empty(self, person: PersonId, until: str = "") -> int:
        """Remove a person's deleted chats for ever; returns the number of deletions removed."""
        removed = 0
        for name in await self._deletions(person):
            chat_id, deleted_at = parsed_deletion(name)
            if until and deleted_at > until:
                continue
            with contextlib.suppress(CommandFailed):  # restored or removed meanwhile
                removed += await self.purge(chat_id, name)
        return removed

    async def _deletions(self, person: PersonId) -> list[str]:
        """The names of a person's deletions, the newest first."""
        if not self._has_people:
            return await run_uncancelled(lambda: deletions(self._chats) if person == OWNER else [])
        return await run_uncancelled(lambda: self._of(person))

    def _of(self, person: PersonId) -> list[str]:
        names = deletions(self._chats)
        if not names:
            return []
        with opened(self._chats / TRASH) as trash:
            return [name for name in names if _person_of(trash, name, self._rows) == person]

    def _person_of(self, chat_id: ChatId) -> PersonId | None:
        names = deletions(self._chats, chat_id)
        if not names or not self._has_people:
            return OWNER if names else None
        with opened(self._chats / TRASH) as trash:
            return _person_of(trash, names[0], self._rows)


def _person_of(
    trash: Folder, name: str, known: MutableMapping[tuple[str, Signature], ChatRow]
) -> PersonId | None:
    """Whose the chat of a deletion was; the owner's if it can't be read, nobody's if it is gone."""
    try:
        return _row(trash, name, parsed_deletion(name)[0], known).person
    except FileNotFoundError:  # restored or removed meanwhile
        return None
    except OSError:
        return OWNER


def _listed(
    chats: Place, names: list[str], known: MutableMapping[tuple[str, Signature], ChatRow]
) -> tuple[list[DeletedChat], int]:
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
