"""Moves deleted chats with their side-cars to the trash, and back, or removes them for ever.

Each deletion gets its own folder, `trash/<chat_id>.<time>/`, so deleting an id twice loses nothing.
The document is moved first on the way out and last on the way back: whenever the process is killed,
the chat is complete in one of the two places. Everything here blocks.
"""

import contextlib
import stat
from datetime import datetime
from pathlib import Path

from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place
from smart_context.base.errors import CommandFailed, StoreFailed
from smart_context.chat.ids import belongs_to
from smart_context.chat.messages import ChatId
from smart_context.storage.deletions import (
    MOST_AT_ONCE,
    deletion_name,
    exists_again,
    not_in_trash,
    parsed_deletion,
)

TRASH = "trash"


def deletions(chats: Place, chat_id: ChatId | None = None) -> list[str]:
    """The names of the deletions' folders, the newest first; other entries are not ours.

    Args:
        chats: The folder of the chats.
        chat_id: Only those of this chat, which is cheap in a full trash.

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
    """Remove a deleted chat for ever, one of its deletions or all; returns how many.

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
    """The name of its folder, the latest by default; raises FileNotFoundError if there is none."""
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
    except (OSError, ValueError):  # it went meanwhile, or it is another name
        return False


def _unreadable(error: OSError) -> StoreFailed:
    return StoreFailed(f"The trash could not be read: {error.strerror or error}. Try again.")
