"""Moves deleted chats with their side-cars to the trash and back, or removes them for ever.

Each deletion gets its own folder, `trash/<chat_id>.<time>/`, so deleting an id twice loses nothing.
The document is moved first on the way out and last on the way back: whenever the process is killed,
the chat is complete in one of the two places. Everything here blocks.
"""

import asyncio
import contextlib
import stat
from collections.abc import Callable, MutableMapping
from datetime import datetime
from pathlib import Path

from cachetools import LRUCache

from smart_context.base.disk.files import Signature, read_in, signature_in
from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place
from smart_context.base.errors import CommandFailed, StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.documents.document import NotAChat, read_version
from smart_context.chat.ids import belongs_to
from smart_context.chat.listed.rows import MOST_LISTED, ChatRow, DeletedChat, damaged_row, row_of
from smart_context.chat.messages import ChatId
from smart_context.storage.names import (
    MOST_AT_ONCE,
    check_deletion,
    deletion_name,
    exists_again,
    not_in_trash,
    parsed_deletion,
)

TRASH = "trash"


def deletions(chats: Place, chat_id: ChatId | None = None) -> list[str]:
    """The names of the deletions' folders, the newest first; ignores other entries.

    Args:
        chat_id: Only the deletions of this chat; cheap even if the trash is full.

    Raises:
        StoreFailed: The system refuses.
    """
    try:
        with opened(chats / TRASH) as trash:
            found = [
                name
                for name in trash.names()
                if (chat_id is None or belongs_to(chat_id, name)) and _is_deletion(trash, name)
            ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(error) from error
    return sorted(found, key=lambda name: (name[-21:], name), reverse=True)


def move_to_trash(chats: Place, chat_id: ChatId, now: datetime) -> Path:
    """Move a chat's document and side-cars to a trash folder of their own; returns that folder.

    Raises:
        CommandFailed: There is no such chat.
        StoreFailed: The system refuses; the document was not moved.
    """
    try:
        with opened(chats) as folder:
            folder.status(f"{chat_id}.json")
            with folder.folder(TRASH, make=True) as trash:
                deletion = _new_deletion(trash, chat_id, now)
            with deletion:
                _move(_files_of(chat_id, folder), folder, deletion)
    except FileNotFoundError as error:
        raise CommandFailed(f"There is no chat {chat_id!r} to delete.") from error
    except OSError as error:
        raise _refused("deleted", chat_id, error) from error
    return deletion.path


def move_back(chats: Place, chat_id: ChatId, deletion: str = "") -> None:
    """Restore a chat from one of its deletions, by default the latest.

    Side-cars that were written meanwhile are replaced.

    Raises:
        CommandFailed: It is not in the trash, or a chat with this id exists again.
        StoreFailed: The system refuses; another call continues where this one failed.
    """
    try:
        with opened(chats) as folder, folder.folder(TRASH) as trash:
            name = _found_deletion(trash, chat_id, deletion)
            _move_back(chat_id, trash, name, folder)
    except FileNotFoundError as error:
        raise not_in_trash(chat_id) from error
    except OSError as error:
        raise _refused("restored", chat_id, error) from error


def purge(chats: Place, chat_id: ChatId, deletion: str = "") -> int:
    """Remove one deletion of a chat, or all, for ever; returns the number of removed ones.

    Raises:
        CommandFailed: It is not in the trash.
        StoreFailed: The system refuses; what is left can be removed again.
    """
    names = [deletion] if deletion else deletions(chats, chat_id)
    try:
        with opened(chats / TRASH) as trash:
            names = [name for name in names if _is_deletion(trash, name)]
            for name in names:
                _remove(trash, name, chat_id)
            trash.sync()
    except FileNotFoundError as error:
        raise not_in_trash(chat_id) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreFailed(
            f"The deleted chat {chat_id!r} could not be removed: {reason}. Check the trash folder, "
            "and try again."
        ) from error
    if not names:
        raise not_in_trash(chat_id)
    return len(names)


def _move_back(chat_id: ChatId, trash: Folder, name: str, folder: Folder) -> None:
    if f"{chat_id}.json" in folder.names():
        raise exists_again(
            chat_id,
            f" Delete it first, or take the deleted one out of {trash.path / name} by hand.",
        )
    with trash.folder(name) as deletion:
        _move(_files_of(chat_id, deletion)[::-1], deletion, folder)
    with contextlib.suppress(OSError):  # not empty: somebody else put a file there
        trash.remove_folder(name)


def _new_deletion(trash: Folder, chat_id: ChatId, now: datetime) -> Folder:
    for number in range(1, MOST_AT_ONCE + 1):
        name = deletion_name(chat_id, now, number)
        try:
            trash.make_folder(name)
        except FileExistsError:
            continue
        trash.sync()
        return trash.folder(name)
    raise FileExistsError(f"{trash.path / chat_id}")


def _found_deletion(trash: Folder, chat_id: ChatId, deletion: str) -> str:
    """The name of a deletion's folder, by default the latest; or raises FileNotFoundError."""
    names = [deletion] if deletion else sorted(trash.names(), reverse=True)
    for name in names:
        if belongs_to(chat_id, name) and has_document(trash, name, chat_id):
            return name
    raise FileNotFoundError(chat_id)


def has_document(trash: Folder, name: str, chat_id: ChatId) -> bool:
    """True if a deletion holds the chat's document, so that it can be restored."""
    try:
        with trash.folder(name) as deletion:
            return stat.S_ISREG(deletion.status(f"{chat_id}.json").st_mode)
    except OSError:
        return False


def _files_of(chat_id: ChatId, folder: Folder) -> list[str]:
    """The names of the chat's files, its document first."""
    names = [name for name in folder.names() if belongs_to(chat_id, name)]
    return sorted(names, key=lambda name: (name != f"{chat_id}.json", name))


def _remove(trash: Folder, name: str, chat_id: ChatId) -> None:
    """Remove a deletion, the document last: until then it can be removed again."""
    with trash.folder(name) as deletion:
        for file_name in _files_of(chat_id, deletion)[::-1]:
            deletion.remove(file_name)
    with contextlib.suppress(OSError):  # not empty: somebody else put a file there
        trash.remove_folder(name)


def _move(names: list[str], source: Folder, target: Folder) -> None:
    for name in names:
        source.move(name, target, name)
    target.sync()
    source.sync()


def _refused(verb: str, chat_id: ChatId, error: OSError) -> StoreFailed:
    reason = error.strerror or str(error)
    return StoreFailed(
        f"The chat {chat_id!r} could not be {verb}: {reason}. Nothing was lost; "
        "check the folder and its trash folder, and try again."
    )


def _is_deletion(trash: Folder, name: str) -> bool:
    """True for a folder that a deletion made; links are not followed."""
    try:
        return bool(parsed_deletion(name)) and stat.S_ISDIR(trash.status(name).st_mode)
    except (OSError, ValueError):  # it was removed meanwhile, or has another kind of name
        return False


def _unreadable(error: OSError) -> StoreFailed:
    return StoreFailed(f"The trash could not be read: {error.strerror or error}. Try again.")


_MOST_ROWS = 20_000


class FileTrash:
    """The deleted chats of one vault; satisfies `ChatTrash`.

    Every method raises `StoreFailed` when the system refuses. No link is followed, and nothing
    outside of the trash folder is removed.

    Args:
        lock: Returns the lock of a chat.
        has_people: Read each chat to find its owner; if false, all belong to `OWNER`.
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
        names = await self._deletions(person)
        return await run_uncancelled(lambda: _listed(self._chats, names, self._rows))

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        return frozenset(parsed_deletion(name)[0] for name in await self._deletions(person))

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        return await run_uncancelled(lambda: self._person_of(chat_id))

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        check_deletion(chat_id, deletion)
        async with self._lock(chat_id):
            return await run_uncancelled(lambda: purge(self._chats, chat_id, deletion))

    async def empty(self, person: PersonId, until: str = "") -> int:
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
        found: list[str] = []
        with opened(self._chats / TRASH) as trash:
            for name in names:
                with contextlib.suppress(OSError):  # an unreadable one is left out
                    found += [name] if _person_of(trash, name, self._rows) == person else []
        return found

    def _person_of(self, chat_id: ChatId) -> PersonId | None:
        names = deletions(self._chats, chat_id)
        if not names or not self._has_people:
            return OWNER if names else None
        try:
            with opened(self._chats / TRASH) as trash:
                return _person_of(trash, names[0], self._rows)
        except OSError as error:
            raise _refused("read", chat_id, error) from error


def _person_of(
    trash: Folder, name: str, known: MutableMapping[tuple[str, Signature], ChatRow]
) -> PersonId | None:
    """The owner of the chat of a deletion; `OWNER` if it is damaged, `None` if it is gone.

    Raises:
        OSError: It can't be read.
    """
    try:
        return _row(trash, name, parsed_deletion(name)[0], known).person
    except FileNotFoundError:  # restored or removed meanwhile
        return None


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
