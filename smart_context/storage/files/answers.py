"""The journal of an answer in progress, and the claim to write it: kill -9 loses nothing of it.

Writing each piece into a long chat would rewrite the whole chat. The pieces are appended to
`<chat_id>.answer.jsonl` instead; the chat is written once, when the answer is complete:

    journal = answers.journal(chat_id, message_id)
    left = journal.claim()           # from now on no other process answers in this chat
    journal.reserve()                # once that is stored: a disk that fills up takes the pieces
    journal.append(piece)            # for each piece
    journal.step(parts)              # what led to the answer, such as a tool's result
    await store.update(…)            # the whole answer
    journal.finish()

After a crash, `interrupted` finds the chats whose answer was not finished.
"""

import contextlib
import errno
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from smart_context.base.disk.files import advice
from smart_context.base.disk.folders import (
    MOVES_OPEN_FILES,
    Folder,
    names_inside,
    opened,
    read_inside,
)
from smart_context.base.disk.locks import try_lock, unlock
from smart_context.base.disk.places import Place, folder_of, place_of
from smart_context.base.errors import ChatIdInvalid
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import Arrived, ChatId, MessageId, Part
from smart_context.storage.journals import ONLY_IN_MEMORY, journal_head, journal_line, parse_journal
from smart_context.storage.ports import AnswerClaimed

MAX_JOURNAL_BYTES = 32 << 20
"""The most that is read back of an answer after a crash."""

RESERVED_BYTES = 64 << 10
"""Room on the disk for what follows: twice a usual answer."""

_PAUSE_S = 0.01
_FLAGS = os.O_RDWR | os.O_CREAT


class AnswerClaim:
    """The locked file of a journal; the lock ends with `release`, or with the process."""

    def __init__(self, place: Place, descriptor: int) -> None:
        self._place = place
        self._descriptor: int | None = descriptor
        self._size = os.fstat(descriptor).st_size
        self._reserved: int | None = None

    def read(self) -> bytes:
        """The file's content; raises `OSError` if the system refuses, or the claim was released."""
        descriptor = self._held()
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(min(self._size, MAX_JOURNAL_BYTES))

    def append(self, content: bytes) -> None:
        """Append all of `content`, or leave the file as it was.

        Raises:
            OSError: If the disk refuses, or the claim was released.
        """
        descriptor, rest = self._held(), content
        end = self._size + len(content)
        if self._reserved is not None and end + RESERVED_BYTES // 2 > self._reserved:
            self.reserve(end)
        os.lseek(descriptor, self._size, os.SEEK_SET)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            os.ftruncate(descriptor, max(self._size, self._reserved or 0))
            raise
        self._size = end

    def reserve(self, end: int = 0) -> None:
        """Take room on the disk, so that one that fills up takes the next 64 KiB nevertheless.

        `append` takes more in time. Where there is no room, or the system can't, nothing happens.
        The file ends in zeros meanwhile; who reads it after a crash passes over them.

        Args:
            end: How long the content is going to be, if longer than now.
        """
        wanted = max(end, self._size) + RESERVED_BYTES
        self._reserved = self._reserved or 0
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.posix_fallocate(self._held(), 0, wanted)
                self._reserved = wanted

    def clear(self) -> None:
        """Empty the file; raises `OSError` if the system refuses, or the claim was released."""
        os.ftruncate(self._held(), 0)
        self._size, self._reserved = 0, None

    def release(self) -> None:
        """Let others claim the answer; the file stays, unless it is empty."""
        if self._size == 0:
            self.remove()
        elif self._reserved and self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
        self._close()

    def remove(self) -> None:
        """Remove the file and release it."""
        if self._descriptor is not None:
            self._unlink()
        self._close()

    def _unlink(self) -> None:
        if not MOVES_OPEN_FILES:
            self._close()
        with contextlib.suppress(OSError), opened(self._place.parent) as folder:
            folder.remove(self._place.name)  # while it is claimed: a later file is not ours

    def _close(self) -> None:
        if self._descriptor is not None:
            unlock(self._descriptor)  # Windows takes its time after the file is closed
            os.close(self._descriptor)
            self._descriptor = None

    def _held(self) -> int:
        if self._descriptor is None:
            raise OSError(errno.EBADF, "the answer is no longer claimed")
        return self._descriptor


def claim_answer(path: Path | Place, *, patience_s: float = 0.0) -> AnswerClaim:
    """Claim the answer of the chat whose journal is at `path`; makes the folder.

    Args:
        path: The journal; made when it is missing.
        patience_s: How long to wait for a process that holds or inspects it.

    Raises:
        AnswerClaimed: If another process has it.
        OSError: If the file can't be opened, or is a link, a folder or a device.
    """
    place = place_of(path)
    pause = threading.Event()
    for _ in range(1 + round(patience_s / _PAUSE_S)):
        with opened(place.parent, make=True) as folder:
            descriptor = folder.open(place.name, _FLAGS)
            if _is_ours(folder, place.name, descriptor):
                return AnswerClaim(place, descriptor)
            os.close(descriptor)
        pause.wait(_PAUSE_S)
    raise AnswerClaimed(str(path))


def is_claimed(path: Path | Place) -> bool:
    """True if a process is writing to the journal at `path`."""
    place = place_of(path)
    with contextlib.suppress(OSError), opened(place.parent) as folder:
        descriptor = folder.open(place.name)
        try:
            return not try_lock(descriptor, shared=True)
        finally:
            os.close(descriptor)
    return False


def _is_ours(folder: Folder, name: str, descriptor: int) -> bool:
    """Lock the file; False if another process has locked it, or removed it meanwhile."""
    if not try_lock(descriptor):
        return False
    try:
        return os.path.samestat(os.fstat(descriptor), folder.status(name))
    except FileNotFoundError:
        return False


ANSWER_SUFFIX = "answer.jsonl"
CLAIM_PATIENCE_S = 1.0
TAKING_OVER_PATIENCE_S = 0.1
_log = logging.getLogger(__name__)


class FileAnswers:
    """The journals beside the chats in a folder; satisfies `Answers`."""

    def __init__(self, folder: Path | Place) -> None:
        self._folder = folder_of(folder)

    def journal(self, chat_id: ChatId, message_id: MessageId) -> "FileJournal":
        return FileJournal(self._place(chat_id), message_id)

    def interrupted(self) -> Sequence[ChatId]:
        chats: list[ChatId] = []
        ending = f".{ANSWER_SUFFIX}"
        for name in names_inside(self._folder):
            if name.endswith(ending) and not is_claimed(self._folder / name):
                with contextlib.suppress(ChatIdInvalid):
                    chats.append(check_chat_id(name.removesuffix(ending)))
        return chats

    def arriving(self, chat_id: ChatId) -> Arrived | None:
        try:
            return parse_journal(read_inside(self._place(chat_id), max_bytes=MAX_JOURNAL_BYTES))
        except OSError:
            return None

    def take_over(self, chat_id: ChatId) -> "InterruptedJournal | None":
        """Claim the answer of a chat to repair it; `None` if a process is writing it.

        Raises:
            OSError: The file can't be opened, or is a link, a folder or a device.
        """
        place = self._place(chat_id)
        if is_claimed(place):
            return None
        try:
            claim = claim_answer(place, patience_s=TAKING_OVER_PATIENCE_S)
        except AnswerClaimed:
            return None
        try:
            return InterruptedJournal(claim, parse_journal(claim.read()))
        except OSError:
            claim.release()
            raise

    def _place(self, chat_id: ChatId) -> Place:
        return self._folder / sidecar_name(check_chat_id(chat_id), ANSWER_SUFFIX)


class InterruptedJournal:
    """A claimed journal that its process left behind; satisfies `InterruptedAnswer`."""

    def __init__(self, claim: AnswerClaim, arrived: Arrived | None) -> None:
        self._claim = claim
        self.arrived = arrived

    def remove(self) -> None:
        self._claim.remove()

    def release(self) -> None:
        self._claim.release()


class FileJournal:
    """Appends the pieces of one answer to a file as they arrive.

    Each piece is passed to the system at once (microseconds, no fsync): kill -9 loses nothing, a
    power cut loses what the system had not written yet. If the disk refuses a piece, a warning is
    logged and the piece is written with the next one; the answer continues.

    Attributes:
        problem: Why the disk does not hold all that has arrived, for the user; empty if it does.
    """

    def __init__(self, path: Path | Place, message_id: MessageId) -> None:
        self._path = path
        self._claim: AnswerClaim | None = None
        self._unwritten = [journal_head(message_id)]
        self._has_begun = False
        self._has_warned = False
        self._is_over = False
        self.problem = ""

    def claim(self) -> Arrived | None:
        """Keep other processes from answering in this chat until the journal is closed; blocks.

        Returns:
            What a killed process left of its answer. Store it: the first piece overwrites it.

        Raises:
            AnswerClaimed: If another process is answering.
        """
        try:
            self._claim = claim_answer(self._path, patience_s=CLAIM_PATIENCE_S)
            return parse_journal(self._claim.read())
        except OSError as error:
            self._warn(error)
            return None

    def reserve(self) -> None:
        """Forget what a killed process left, and take room on the disk for the pieces; blocks."""
        try:
            if self._claim is not None:
                self._claim.clear()
                self._has_begun = True
                self._claim.reserve()
        except OSError as error:
            self._warn(error)

    def append(self, text: str) -> None:
        """Write the next piece."""
        if text:
            self._keep(text)

    def step(self, parts: Sequence[Part]) -> None:
        """Write the parts that led to the answer; they replace the pieces so far."""
        self._keep({"steps": list(parts)})

    def flush(self) -> None:
        """Try again to write what the disk refused before."""
        if self._is_over:
            return
        try:
            if self._claim is None:
                self._claim = claim_answer(self._path)
            if not self._has_begun:
                self._claim.clear()
                self._has_begun = True
            self._claim.append(b"".join(self._unwritten))
        except (OSError, AnswerClaimed) as error:
            self._warn(error)
            self.problem = f"{ONLY_IN_MEMORY} {advice(error)}"
        else:
            self._unwritten.clear()
            self.problem = ""

    def finish(self) -> None:
        """Remove the journal: the answer is in the chat."""
        self._is_over = True
        if self._claim is not None:
            self._claim.remove()

    def close(self) -> None:
        """Stop journalling and leave the file for the next start."""
        self._is_over = True
        if self._claim is not None:
            self._claim.release()

    def _keep(self, value: object) -> None:
        if not self._is_over:
            self._unwritten.append(journal_line(value))
            self.flush()

    def _warn(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("The running answer is not journalled for now: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
