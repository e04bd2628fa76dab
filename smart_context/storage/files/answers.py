"""The journal of an answer in progress, and the claim to write it: kill -9 loses no piece.

Writing each piece into a long chat would rewrite the whole chat. The pieces are appended to
`<chat_id>.answer.jsonl` instead; the chat is written once, when the answer is complete:

    journal = answers.journal(chat_id, message_id)
    left = journal.claim()           # from now on no other process answers in this chat
    journal.reserve()                # after storing it; then a full disk still takes the pieces
    journal.append(piece)            # for each piece
    journal.step(parts)              # the parts before the answer, such as a tool's result
    await store.update(…)            # the whole answer
    journal.finish()

After a crash, `interrupted` finds the chats whose answer was not finished.
"""

import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from smart_context.base.disk.files import advice
from smart_context.base.disk.folders import (
    names_inside,
    read_inside,
)
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import ChatIdInvalid
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import Arrived, ChatId, MessageId, Part
from smart_context.storage.files.claims import (
    MAX_JOURNAL_BYTES,
    AnswerClaim,
    claim_answer,
    is_claimed,
)
from smart_context.storage.journals import ONLY_IN_MEMORY, journal_head, journal_line, parse_journal
from smart_context.storage.ports import AnswerClaimed

ANSWER_SUFFIX = "answer.jsonl"
CLAIM_PATIENCE_S = 1.0
TAKING_OVER_PATIENCE_S = 0.1
_log = logging.getLogger(__name__)


class FileAnswers:
    """The journals next to the chats in a folder; satisfies `Answers`."""

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
        problem: The reason, for the user, why some pieces are not on the disk; empty if all are.
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
            The part of an answer that a killed process left. Store it: the first piece overwrites
            it.

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
        """Discard what a killed process left, and reserve room on the disk for pieces; blocks."""
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
        """Try again to write the pieces that the disk refused."""
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
