"""Moves deleted chats with their side-cars to the trash, and back.

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
from smart_context.chat.ids import belongs_to, file_stamp
from smart_context.chat.messages import ChatId

TRASH = "trash"


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


def move_back(chats: Place, chat_id: ChatId) -> None:
    """Restore a chat from its latest deletion.

    Side-cars that were written meanwhile are replaced.

    Raises:
        CommandFailed: It is not in the trash, or a chat with this id exists again.
        StoreFailed: The system refuses; another call continues where this one failed.
    """
    try:
        with opened(chats) as folder, folder.folder(TRASH) as trash:
            name = _latest_deletion(trash, chat_id)
            _move_back(chat_id, trash, name, folder)
    except FileNotFoundError as error:
        raise CommandFailed(f"There is no chat {chat_id!r} in the trash.") from error
    except OSError as error:
        raise _refused("restored", chat_id, error) from error


def _move_back(chat_id: ChatId, trash: Folder, name: str, folder: Folder) -> None:
    if f"{chat_id}.json" in folder.names():
        raise CommandFailed(
            f"A chat {chat_id!r} exists again; it was not replaced by the deleted one. "
            f"Delete it first, or take the deleted one out of {trash.path / name} by hand."
        )
    with trash.folder(name) as deletion:
        _move(_files_of(chat_id, deletion)[::-1], deletion, folder)
    with contextlib.suppress(OSError):  # not empty: somebody else put a file there
        trash.remove_folder(name)


def _new_deletion(trash: Folder, chat_id: ChatId, now: datetime) -> Folder:
    stamp = file_stamp(now)
    for number in range(1, 10_000):
        name = f"{chat_id}.{stamp}-{number:04}"
        try:
            trash.make_folder(name)
        except FileExistsError:
            continue
        trash.sync()
        return trash.folder(name)
    raise FileExistsError(f"{trash.path / chat_id}.{stamp}")


def _latest_deletion(trash: Folder, chat_id: ChatId) -> str:
    """The name of its folder; raises FileNotFoundError if there is none."""
    for name in sorted(trash.names(), reverse=True):
        if belongs_to(chat_id, name) and _has_document(trash, name, chat_id):
            return name
    raise FileNotFoundError(chat_id)


def _has_document(trash: Folder, name: str, chat_id: ChatId) -> bool:
    try:
        with trash.folder(name) as deletion:
            return stat.S_ISREG(deletion.status(f"{chat_id}.json").st_mode)
    except OSError:
        return False


def _files_of(chat_id: ChatId, folder: Folder) -> list[str]:
    """The names of the chat's files, its document first."""
    names = [name for name in folder.names() if belongs_to(chat_id, name)]
    return sorted(names, key=lambda name: (name != f"{chat_id}.json", name))


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
