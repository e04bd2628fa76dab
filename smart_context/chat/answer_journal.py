"""An answer while it is being written, safe from kill -9 at the price of one small append.

Rewriting a long chat for each piece of an answer would cost the whole chat each time. The pieces
go to `<chat_id>.answer.jsonl` instead, and to the chat once, when the answer is complete:

    journal = AnswerJournal(store.sidecar(chat_id, ANSWER_SUFFIX), message_id)
    journal.append(piece)            # for each piece
    journal.step(parts)              # what led to the answer, such as a tool's result
    await store.update(…)            # the whole answer
    journal.finish()

After a crash, `interrupted_answers` finds what was not finished.
"""

import contextlib
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, MessageId, Part
from smart_context.disk.files import read_file
from smart_context.disk.folders import names_inside, opened
from smart_context.disk.locks import try_lock
from smart_context.disk.places import Place, folder_of, place_of
from smart_context.errors import ChatIdInvalid, StoreFailed

ANSWER_SUFFIX = "answer.jsonl"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptedAnswer:
    """What a killed process had received of an answer.

    Attributes:
        chat_id: The chat.
        message_id: The message that was being written.
        text: What had arrived of it, after the steps.
        steps: What was said and done before it, as parts of a message.
        path: The journal; `discard` it once the text is in the chat.
    """

    chat_id: ChatId
    message_id: MessageId
    text: str
    steps: tuple[Part, ...]
    path: Path

    def discard(self) -> None:
        """Remove the journal: its text is stored, or not wanted."""
        self.path.unlink(missing_ok=True)


class AnswerJournal:
    """Appends the pieces of one answer to a file as they arrive.

    Each piece is handed to the system at once (some microseconds, no fsync), so kill -9 loses
    none; a power cut loses what the system had not written yet. A disk that refuses ends the
    journal with a line in the log, not the answer.
    """

    def __init__(self, path: Path, message_id: MessageId) -> None:
        self._path = path
        self._message_id = message_id
        self._descriptor: int | None = None
        self._is_over = False

    def append(self, text: str) -> None:
        """Keep the next piece; the first one makes the file."""
        if text:
            self._keep(text)

    def step(self, parts: Sequence[Part]) -> None:
        """Keep what was said and done; the pieces so far are a part of it, or of no account."""
        self._keep({"steps": list(parts)})

    def finish(self) -> None:
        """Remove the journal: the answer is in the chat."""
        self.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _keep(self, value: object) -> None:
        if self._is_over:
            return
        try:
            if self._descriptor is None:
                self._descriptor = _begin(self._path, self._message_id)
            _write(self._descriptor, json.dumps(value, default=dict))
        except OSError as error:
            _log.warning("The running answer is not journalled: %s", error)
            self.close()

    def close(self) -> None:
        """Stop journalling and leave the file for the next start."""
        self._is_over = True
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Arrived(NamedTuple):
    """What a journal holds: the message, its text after the steps, and the steps."""

    message_id: MessageId
    text: str
    steps: tuple[Part, ...] = ()


def recover(path: Path | Place) -> Arrived | None:
    """What had arrived of an answer; `None` when nothing is there to recover.

    A last line that was cut short is left out. A journal that another process is writing to is
    no interrupted answer.
    """
    with contextlib.suppress(StoreFailed):
        found = read_file(path)
        if found is None or _is_being_written(path):
            return None
        return _parse(found[1])
    return None


def interrupted_answers(folder: Path | Place) -> Sequence[InterruptedAnswer]:
    """All answers that killed processes left unfinished in a folder of chats; blocks."""
    answers: list[InterruptedAnswer] = []
    ending = f".{ANSWER_SUFFIX}"
    place = folder_of(folder)
    for name in names_inside(place):
        if not name.endswith(ending):
            continue
        with contextlib.suppress(ChatIdInvalid):
            chat_id = check_chat_id(name.removesuffix(ending))
            if found := recover(place / name):
                path = (place / name).path
                answers.append(InterruptedAnswer(chat_id=chat_id, path=path, **found._asdict()))
    return answers


def _begin(path: Path, message_id: MessageId) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        try_lock(descriptor)
        _write(descriptor, json.dumps({"message_id": message_id}))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _write(descriptor: int, line: str) -> None:
    content = f"{line}\n".encode()
    while content:
        content = content[os.write(descriptor, content) :]


def _is_being_written(path: Path | Place) -> bool:
    place = place_of(path)
    try:
        with opened(place.parent) as folder, os.fdopen(folder.open(place.name), "rb") as file:
            return not try_lock(file.fileno(), shared=True)
    except OSError:
        return False


def _parse(content: bytes) -> Arrived | None:
    values: list[object] = []
    for line in content.split(b"\n"):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):  # cut short
            break
    head = values[0] if values else None
    message_id = head.get("message_id") if isinstance(head, dict) else None
    if not isinstance(message_id, str) or not message_id:
        return None
    pieces: list[str] = []
    steps: list[Part] = []
    for value in values[1:]:
        if isinstance(value, str):
            pieces.append(value)
        elif isinstance(value, dict) and isinstance(value.get("steps"), list):
            pieces.clear()
            steps += [part for part in value["steps"] if isinstance(part, dict)]
    return Arrived(MessageId(message_id), "".join(pieces), tuple(steps))
