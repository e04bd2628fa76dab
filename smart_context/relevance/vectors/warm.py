"""One chat's vectors in memory, in the order of its messages."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message, MessageId
from smart_context.llm.models import Matrix
from smart_context.storage.ports import ChatVectors, Stored

_HASH_BYTES = 8
_SPARE = 256  # rows reserved for the next messages
_BLOCK = 4_096  # rows that are copied at once

Keyed = tuple[str, str]
"""A message's key in the file, and its text."""


class WarmChat:
    """Vectors by key, and the messages that they were last requested for.

    `place` takes the chat's messages and returns those without a vector; `add` takes the missing
    vectors; `matrix` returns the rows in the messages' order. One caller at a time.
    """

    def __init__(self, kept: ChatVectors, stored: Stored) -> None:
        keys, vectors = stored
        self.kept = kept
        self._table = _table(keys, vectors)
        self._messages: tuple[Message, ...] = ()
        self._keys: list[str] = []
        self._ordered = _Growing()
        self._is_in_order = True  # the rows of `_ordered` are the first of `_vectors`
        self._last: tuple[tuple[Message, ...], Matrix] = ((), _nothing(0))

    @property
    def _rows(self) -> dict[str, int]:
        return self._table[0]

    @property
    def _vectors(self) -> "_Growing":
        return self._table[1]

    @property
    def size(self) -> int:
        """The number of vectors."""
        return len(self._rows)

    @property
    def width(self) -> int:
        """The dimension of the vectors; 0 if there are none."""
        return self._vectors.width if self._rows else 0

    @property
    def has_leavers(self) -> bool:
        """True if there are vectors of messages that were since edited or deleted."""
        return len(self._rows) > len(self._present())

    def ready(self, messages: tuple[Message, ...]) -> Matrix | None:
        """The rows of the messages that `matrix` was last called for, or of the first of them.

        `None` for other messages, and before `matrix` was called. It may run while another
        method runs.
        """
        known, rows = self._last
        return rows[: len(messages)] if messages and messages == known[: len(messages)] else None

    def is_all(self, messages: tuple[Message, ...]) -> bool:
        """True if `matrix` was last called for this number of messages."""
        return len(messages) == len(self._last[0])

    def of(self, ids: Mapping[MessageId, MessageId]) -> Stored:
        """The vectors of some messages, under other ids."""
        named = ((key, *key.rpartition(":")) for key in self._rows)
        found = [(key, MessageId(name), digest) for key, name, _, digest in named if name in ids]
        rows = [self._rows[key] for key, _, _ in found]
        return [f"{ids[name]}:{digest}" for _, name, digest in found], self._vectors.view()[rows]

    def rows(self, keys: Sequence[str]) -> Matrix:
        """Shape (n, d): a row for each key, zero for one without a vector.

        It may run while another method runs.
        """
        known, growing = self._table
        vectors = growing.view()
        places = np.array([known.get(key, -1) for key in keys], dtype=np.intp)
        places[places >= len(vectors)] = -1  # added since
        return _at(vectors, places)

    def place(self, messages: tuple[Message, ...]) -> list[Keyed]:
        """Set the messages; returns those to embed, each once, in order."""
        same = common_length(messages, self._messages)
        del self._keys[same:]
        self._keys += [message_key(message) for message in messages[same:]]
        self._messages = messages
        self._ordered.keep(same)
        return self.missing()

    def missing(self) -> list[Keyed]:
        """The placed messages that have no vector, each once, in order."""
        known = len(self._ordered)  # those in the matrix have one
        places = {
            key: place
            for place, key in enumerate(self._keys[known:], start=known)
            if key and key not in self._rows
        }
        return [(key, self._messages[place].text) for key, place in places.items()]

    def add(self, keys: Sequence[str], vectors: Matrix) -> bool:
        """Add vectors.

        Returns:
            True if they have the dimension of the others. If not, another model has taken the
            name, and the others are dropped.
        """
        fits = not self._rows or vectors.shape[1] == self._vectors.width
        if not fits:
            self._table = {}, _Growing()
            self._ordered = _Growing()
            self._is_in_order = True
            self._last = ((), _nothing(0))
        start = len(self._vectors)
        self._vectors.extend(vectors, room=len(self._keys))
        self._rows.update((key, start + row) for row, key in enumerate(keys))
        return fits

    def matrix(self) -> Matrix:
        """Shape (n, d), read-only: a row for each placed message, zero for an empty one."""
        start = len(self._ordered)
        places = np.array([self._rows.get(key, -1) for key in self._keys[start:]], dtype=np.intp)
        self._is_in_order = self._is_in_order or not start
        if self._is_in_order and (places == np.arange(start, start + len(places))).all():
            self._ordered = _Growing(self._vectors.view()[: start + len(places)])
        elif len(places):
            self._is_in_order = False
            self._ordered = self._ordered if start else _Growing()
            for block in range(0, len(places), _BLOCK):
                rows = _at(self._vectors.view(), places[block : block + _BLOCK])
                self._ordered.extend(rows, room=len(self._keys))
        rows = self._ordered.view()
        self._last = (self._messages, rows)
        return rows

    def write(self) -> None:
        """Store the vectors of the placed messages, and forget those of others.

        Raises:
            StoreFailed: If the disk refuses.
        """
        keys = self._present()
        if keys == [*self._rows] and len(keys) == len(self._vectors):
            self.kept.replace(keys, self._vectors.view())
            return
        vectors = self._vectors.view()[[self._rows[key] for key in keys]]
        self.kept.replace(keys, vectors)
        self._table = _table(keys, vectors)

    def _present(self) -> list[str]:
        return [key for key in dict.fromkeys(self._keys) if key in self._rows]


def _table(keys: Sequence[str], vectors: Matrix) -> tuple[dict[str, int], "_Growing"]:
    """The place of each key's row, and the rows."""
    return {key: row for row, key in enumerate(keys)}, _Growing(vectors)


def _at(vectors: Matrix, places: NDArray[np.intp]) -> Matrix:
    """The rows at these places, zero for one below 0."""
    found = vectors[places] if len(vectors) else _nothing(len(places))
    found[places < 0] = 0
    return found


class _Growing:
    """Rows that grow at the end in amortised constant time; views stay valid."""

    def __init__(self, rows: Matrix | None = None) -> None:
        self._buffer = np.zeros((0, 0), dtype=np.float32) if rows is None else rows
        self._used = len(self._buffer)
        self._is_shared = True

    def __len__(self) -> int:
        return self._used

    @property
    def width(self) -> int:
        return int(self._buffer.shape[1])

    def keep(self, count: int) -> None:
        """Forget all but the first `count` rows; views are not overwritten."""
        if count < self._used:
            self._used = count
            self._is_shared = True

    def extend(self, rows: Matrix, *, room: int = 0) -> None:
        """Add rows; those without width are zero rows of the others' width.

        Args:
            room: How many rows are expected in all; memory is taken by those that come.
        """
        needed = self._used + len(rows)
        own_width = self.width if self._used else 0
        width = max(own_width, rows.shape[1])
        if self._is_shared or needed > len(self._buffer) or width != self.width:
            size = room + _SPARE if room >= needed else needed + needed // 4 + 16
            grown = np.empty((size, width), dtype=np.float32)
            grown[: self._used] = self._buffer[: self._used] if own_width else 0
            self._buffer = grown
            self._is_shared = False
        self._buffer[self._used : needed] = rows if rows.shape[1] else 0
        self._used = needed

    def view(self) -> Matrix:
        view = self._buffer[: self._used]
        view.flags.writeable = False
        return view


def key_of(message_id: str, text: str) -> str:
    """A message's key in the file: its id and a hash of its text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES)
    return f"{message_id}:{digest.hexdigest()}"


def message_key(message: Message) -> str:
    """The key of a message in the file; empty for one that gets no vector."""
    if not message.is_complete:
        return ""
    text = message.text
    return key_of(message.id, text) if text.strip() else ""


def common_length(messages: tuple[Message, ...], others: tuple[Message, ...]) -> int:
    """The number of equal messages at the beginning."""
    shorter = min(len(messages), len(others))
    if messages[:shorter] == others[:shorter]:  # usually the same objects, which is fast
        return shorter
    pairs = zip(messages, others, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), shorter)


def _nothing(count: int) -> Matrix:
    return np.zeros((count, 0), dtype=np.float32)
