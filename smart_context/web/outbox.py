"""The events that wait for a client. Pure.

A client that keeps up gets every frame. For one that lags, only the newest state event of a kind
per chat waits, and the pieces of an answer are joined; nothing else is dropped or overtaken.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from smart_context.web.limits import MAX_OUTBOX_BYTES
from smart_context.web.wire import render_notification

TOKEN_EVENT = "chat.token"  # noqa: S105  (a token of a model, not a secret)
STATE_EVENTS = frozenset(
    {
        "smart_context.topics_updated",
        "smart_context.filter_changed",
        "memory.chat_changed",
    }
)
"""State events: a newer one replaces an older one."""

_ENTRY_BYTES = 256
"""Bytes of an entry of the queue, besides its text."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, serialised once for all clients."""

    text: str  # the frame as sent
    # a newer frame with the same key replaces this one; `None`: no frame does
    replaces: Hashable = None
    # the piece of an answer in this frame, which can be joined to the one before
    piece: "TextPiece | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A run of an answer's characters."""

    answer: Hashable  # the chat and message of the answer
    offset: int  # number of characters of the answer before these
    text: str  # the characters
    payload: Mapping[str, Any]  # the event's other fields


def event_frame(event: str, payload: Mapping[str, Any]) -> Frame:
    """The frame of an event; outboxes can share it.

    Raises:
        ValueError: If the payload can't be serialised.
    """
    text = render_notification(event, payload)
    if event in STATE_EVENTS and not payload.get("moved"):
        return Frame(text, replaces=(event, str(payload.get("chat_id"))))
    if event == TOKEN_EVENT:
        return Frame(text, piece=_piece_of(payload))
    return Frame(text)


def _piece_of(payload: Mapping[str, Any]) -> TextPiece | None:
    offset, text = payload.get("offset"), payload.get("text")
    if not isinstance(offset, int) or not isinstance(text, str):
        return None
    answer = (str(payload.get("chat_id")), str(payload.get("message_id")))
    return TextPiece(answer=answer, offset=offset, text=text, payload=dict(payload))


class _Joined:
    """Adjoining pieces of one answer."""

    __slots__ = ("_frames", "_next_offset", "_pieces", "size")

    def __init__(self, frame: Frame, piece: TextPiece) -> None:
        self._frames = [frame]
        self._pieces = [piece]
        self._next_offset = piece.offset + len(piece.text)
        self.size = len(frame.text) + _ENTRY_BYTES

    def join(self, frame: Frame, piece: TextPiece) -> bool:
        if piece.offset != self._next_offset:
            return False
        self._frames.append(frame)
        self._pieces.append(piece)
        self._next_offset += len(piece.text)
        self.size += len(frame.text)
        return True

    def render(self) -> str:
        if len(self._frames) == 1:
            return self._frames[0].text
        text = "".join(piece.text for piece in self._pieces)
        return render_notification(TOKEN_EVENT, {**self._pieces[0].payload, "text": text})


class Outbox:
    """The frames that wait for one client.

    Args:
        max_bytes: Most bytes that may wait; a single frame may be larger.
    """

    def __init__(self, max_bytes: int = MAX_OUTBOX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._queue: OrderedDict[Hashable, Frame | _Joined] = OrderedDict()
        self._fixed = 0
        self.size = 0

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, frame: Frame) -> bool:
        """Queue a frame; returns False if too many bytes wait already."""
        if frame.replaces is not None:
            self._drop(frame.replaces)
        if self.size > self._max_bytes:
            return False
        if frame.replaces is not None:
            self._append(frame.replaces, frame, len(frame.text) + _ENTRY_BYTES)
        elif frame.piece is not None:
            self._put_piece(frame, frame.piece)
        else:
            self._put_fixed(frame)
        return True

    def take(self) -> str | None:
        """Remove the next frame and return its text; `None` if none waits."""
        if not self._queue:
            return None
        _, entry = self._queue.popitem(last=False)
        self.size -= _size(entry)
        return entry.text if isinstance(entry, Frame) else entry.render()

    def _put_fixed(self, frame: Frame) -> None:
        """End joining here: later pieces start a new entry."""
        self._fixed += 1
        self._append(self._fixed, frame, len(frame.text) + _ENTRY_BYTES)

    def _put_piece(self, frame: Frame, piece: TextPiece) -> None:
        key = (piece.answer, self._fixed)
        waiting = self._queue.get(key)
        if isinstance(waiting, _Joined):
            before = waiting.size
            if waiting.join(frame, piece):
                self.size += waiting.size - before
                return
            self._fixed += 1
            key = (piece.answer, self._fixed)
        joined = _Joined(frame, piece)
        self._append(key, joined, joined.size)

    def _append(self, key: Hashable, entry: Frame | _Joined, size: int) -> None:
        self._queue[key] = entry
        self.size += size

    def _drop(self, key: Hashable) -> None:
        previous = self._queue.pop(key, None)
        if previous is not None:
            self.size -= _size(previous)


def _size(entry: Frame | _Joined) -> int:
    return entry.size if isinstance(entry, _Joined) else len(entry.text) + _ENTRY_BYTES
