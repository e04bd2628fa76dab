"""Deleted chats: moved with all that belongs to them, and moved back.

Each deletion has a folder of its own, `trash/<chat_id>.<time>/`, so deleting an id twice loses
nothing. The document is moved first on the way out and last on the way back: whenever the
process is killed, the chat is whole in one of the two places. Everything here blocks.
"""

import contextlib
import os
from datetime import datetime
from pathlib import Path

from smart_context.chat.ids import belongs_to, file_stamp
from smart_context.chat.messages import ChatId
from smart_context.disk.files import fsync_folder
from smart_context.errors import CommandFailed, StoreFailed

TRASH = "trash"


def move_to_trash(folder: Path, chat_id: ChatId, now: datetime) -> Path:
    """Move a chat's document and side-cars to a trash folder of their own.

    Returns:
        That folder.

    Raises:
        CommandFailed: There is no such chat.
        StoreFailed: The system refuses; the chat is where it was, at most side-cars have moved.
    """
    document = folder / f"{chat_id}.json"
    if not os.path.lexists(document):
        raise CommandFailed(f"There is no chat {chat_id!r} to delete.")
    try:
        deletion = _new_deletion(folder / TRASH, chat_id, now)
        _move(_files_of(chat_id, folder, first=document.name), deletion)
    except OSError as error:
        raise _refused("deleted", chat_id, error) from error
    return deletion


def move_back(folder: Path, chat_id: ChatId) -> None:
    """Bring back what the latest deletion of that chat moved away.

    Side-cars that a late writer left meanwhile give way to those that belong to the document.

    Raises:
        CommandFailed: It is not in the trash, or a chat of that id exists again.
        StoreFailed: The system refuses; doing it again goes on where this ended.
    """
    name = f"{chat_id}.json"
    deletion = _latest_deletion(folder / TRASH, chat_id)
    if deletion is None:
        raise CommandFailed(f"There is no chat {chat_id!r} in the trash.")
    if os.path.lexists(folder / name):
        raise CommandFailed(
            f"A chat {chat_id!r} exists again; it was not replaced by the deleted one. "
            f"Delete it first, or take the deleted one out of {deletion} by hand."
        )
    try:
        _move(list(reversed(_files_of(chat_id, deletion, first=name))), folder)
    except OSError as error:
        raise _refused("restored", chat_id, error) from error
    with contextlib.suppress(OSError):  # somebody put something of their own there
        deletion.rmdir()


def _new_deletion(trash: Path, chat_id: ChatId, now: datetime) -> Path:
    trash.mkdir(exist_ok=True)
    stamp = file_stamp(now)
    for number in range(1, 10_000):
        deletion = trash / f"{chat_id}.{stamp}-{number:04}"
        try:
            deletion.mkdir()
        except FileExistsError:
            continue
        fsync_folder(trash)
        return deletion
    raise FileExistsError(f"{trash / chat_id}.{stamp}")


def _latest_deletion(trash: Path, chat_id: ChatId) -> Path | None:
    if not trash.is_dir():
        return None
    deletions = sorted(
        entry.name
        for entry in os.scandir(trash)
        if belongs_to(chat_id, entry.name) and (Path(entry) / f"{chat_id}.json").is_file()
    )
    return trash / deletions[-1] if deletions else None


def _files_of(chat_id: ChatId, folder: Path, *, first: str) -> list[Path]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if belongs_to(chat_id, entry.name)]
    return [folder / name for name in sorted(names, key=lambda name: (name != first, name))]


def _move(files: list[Path], target: Path) -> None:
    for file in files:
        file.replace(target / file.name)
    fsync_folder(target)
    if files:
        fsync_folder(files[0].parent)


def _refused(verb: str, chat_id: ChatId, error: OSError) -> StoreFailed:
    reason = error.strerror or str(error)
    return StoreFailed(
        f"The chat {chat_id!r} could not be {verb}: {reason}. Nothing was lost; "
        "check the folder and its trash folder, and try again."
    )
