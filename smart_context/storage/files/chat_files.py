"""Reads, merges, writes and sets aside the files of chats. Blocks."""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path

from smart_context.base.disk.files import (
    FileReplaced,
    Signature,
    could_not,
    read_in,
    replace_unless_changed,
    signature_in,
    sweep,
)
from smart_context.base.disk.folders import Folder, SharedSync, opened
from smart_context.base.disk.locks import locked
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import ChatIdInvalid, StoreFailed
from smart_context.base.json_limits import too_much
from smart_context.chat.documents.document import NotAChat, Version, read_version
from smart_context.chat.documents.merge import merge
from smart_context.chat.ids import file_stamp, same_but_for_case
from smart_context.chat.messages import ChatId

_log = logging.getLogger(__name__)

_ATTEMPTS = 20
_LONGEST_PAUSE_S = 0.1
_FRESH_S = 1.0
_PER_MESSAGE = 600  # bytes in memory, besides those of its line


@dataclass(frozen=True, slots=True)
class Stored:
    """A version with the state of its file."""

    signature: Signature
    version: Version

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        return self.signature.size + _PER_MESSAGE * len(self.version.entries)


class ChatFileDamaged(Exception):
    """A file that can't be read as a chat.

    Attributes:
        signature: The file's state.
        reason: The reason why it can't be read.
    """

    def __init__(self, signature: Signature, reason: str) -> None:
        super().__init__(reason)
        self.signature = signature
        self.reason = reason

    @property
    def is_fresh(self) -> bool:
        """True if it was written within a second: another program may still be writing it."""
        return 0 <= time.time() - self.signature.mtime_ns / 1e9 < _FRESH_S


class ChatFiles:
    """The documents in one folder."""

    def __init__(self, folder: Path | Place, clock: Callable[[], datetime]) -> None:
        self._folder = folder_of(folder)
        self._clock = clock
        self._is_swept = False
        self._being_put: dict[ChatId, Stored] = {}
        self._shared_sync = SharedSync()

    def place(self, chat_id: ChatId) -> Place:
        """The chat's document."""
        return self._folder / f"{chat_id}.json"

    def read(self, chat_id: ChatId, known: Stored | None = None) -> Stored | None:
        """The stored version; `known` itself if the file is unchanged; `None` without a file.

        Raises:
            Damaged: The file is not a chat's document; it was not moved.
            ChatIdInvalid: The file belongs to an id that differs only in case.
            StoreFailed: The system refuses.
        """
        place = self.place(chat_id)
        try:
            with opened(self._folder) as folder:
                signature = signature_in(folder, place.name)
                if signature is None:
                    return None
                _refuse_other_case(folder, place.name, signature)
                for stored in (known, self._being_put.get(chat_id)):
                    if stored is not None and stored.signature == signature:
                        return stored
                signature, content = read_in(folder, place.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise could_not("read", place, error) from error
        try:
            return Stored(signature, read_version(content, known.version if known else None))
        except NotAChat as error:
            raise ChatFileDamaged(signature, str(error)) from None

    def put(self, chat_id: ChatId, version: Version, read: Stored | None) -> Stored:
        """Store a version that was derived from `read`, merged with changes since then.

        Raises:
            Damaged: Another program damaged the file meanwhile; nothing was written.
            StoreFailed: The disk refuses, or the version holds too much to be read; the old file
                is intact.
        """
        if not self._is_swept:
            self._is_swept = True
            sweep(self._folder)
        place = self.place(chat_id)
        for attempt in range(_ATTEMPTS):
            expected = read.signature if read else None
            # Noted early: until the folder is synchronised, readers need not read the whole file.
            note = partial(self._note, chat_id, version)
            content = version.encode()
            if excess := too_much(content):
                raise StoreFailed(f"{place} was not written: {excess}.")
            try:
                signature = replace_unless_changed(
                    place, content, expected, note, self._shared_sync
                )
                return Stored(signature, version)
            except FileReplaced:
                newest = self.read(chat_id, read)
                if newest is not None:
                    base = read.version if read else Version()
                    version = merge(base, newest.version, version)
                read = newest
                _let_others_finish(attempt)
            finally:
                self._being_put.pop(chat_id, None)
        raise StoreFailed(
            f"{place} was not written: another program keeps changing it. "
            "Nothing was overwritten. Stop that program and try again."
        )

    def _note(self, chat_id: ChatId, version: Version, signature: Signature) -> None:
        self._being_put[chat_id] = Stored(signature, version)

    def set_aside(self, chat_id: ChatId, damaged: ChatFileDamaged) -> Path | None:
        """Rename a damaged file and return its new path; `None` if it changed meanwhile.

        Raises:
            StoreFailed: The system refuses; the file is where it was.
        """
        place = self.place(chat_id)
        stem = f"{chat_id}.damaged-{file_stamp(self._clock())}"
        try:
            with opened(self._folder) as folder:
                with locked(folder):
                    if signature_in(folder, place.name) != damaged.signature:
                        return None
                    target = _free_name(folder, stem)
                    folder.move(place.name, folder, target)
                folder.sync()
        except OSError as error:
            raise StoreFailed(
                f"{place} can't be read as a chat ({damaged.reason}) and could not be set aside: "
                f"{error.strerror or error}. Move it elsewhere yourself."
            ) from error
        # Logged at once: the caller may be cancelled before it can report this.
        _log.warning(
            "%s can't be read as a chat (%s): it was set aside as %s", place, damaged.reason, target
        )
        return folder.path / target


def _refuse_other_case(folder: Folder, name: str, signature: Signature) -> None:
    # One more stat shows if the file system ignores case; only then list the names.
    try:
        if folder.status(name.swapcase()).st_ino != signature.inode:
            return
        other = same_but_for_case(name, folder.names())
    except OSError:
        return
    if other is not None:
        raise ChatIdInvalid(
            f"{name.removesuffix('.json')!r} differs from the chat in {other!r} in case only, and "
            "this file system does not tell them apart. Choose another id."
        )


def _free_name(folder: Folder, stem: str) -> str:
    taken = set(folder.names())
    numbers = count(2)
    name = f"{stem}.json"
    while name in taken:
        name = f"{stem}-{next(numbers)}.json"
    return name


def _let_others_finish(attempt: int) -> None:
    """Wait for a random, growing time, so that two writers don't collide again."""
    longest = min(0.002 * 2**attempt, _LONGEST_PAUSE_S)
    time.sleep(random.uniform(0, longest))  # noqa: S311, TID251 - other processes give no event
