"""A chat independent of any topic: its stretches of one subject, and its typical similarities.

A message's values depend on its neighbours only and are computed in fixed blocks, so a chat that
grew message by message has bit for bit the same values as one that was read at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message
from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.dates import days_of
from smart_context.relevance.vectors.warm import common_length

_AROUND, _NEAR = 5, 3


def before(values: Matrix) -> Matrix:
    """For each message, the value of the previous one; 0 for the first."""
    moved = np.zeros_like(values)
    moved[..., 1:] = values[..., :-1]
    return moved


def after(values: Matrix) -> Matrix:
    """For each message, the value of the next one; 0 for the last."""
    moved = np.zeros_like(values)
    moved[..., :-1] = values[..., 1:]
    return moved


def around(values: Matrix) -> Matrix:
    """The mean over each message and up to five on either side; `values` has two axes."""
    count = values.shape[1]
    sums = np.zeros((len(values), count + 2 * _AROUND + 1))
    np.cumsum(values, axis=1, out=sums[:, _AROUND + 1 : _AROUND + 1 + count])
    sums[:, _AROUND + 1 + count :] = sums[:, [_AROUND + count]]
    places = np.arange(count)
    size = np.minimum(places, _AROUND) + np.minimum(count - 1 - places, _AROUND) + 1
    return np.asarray((sums[:, 2 * _AROUND + 1 :] - sums[:, :count]) / size, dtype=np.float32)


def largest_near(values: Matrix) -> Matrix:
    """The largest value of each message and up to three on either side."""
    largest = values.copy()
    for step in range(1, _NEAR + 1):
        np.maximum(largest[..., step:], values[..., :-step], out=largest[..., step:])
        np.maximum(largest[..., :-step], values[..., step:], out=largest[..., :-step])
    return largest


BLOCK = 256
_REACH = 3
_CHANGE = 0.25
_PAUSE_DAYS = 1 / 24
_TINY = 1e-6

Floats = NDArray[np.float32]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Background:
    """The values of a chat's n messages that don't depend on a topic."""

    usual: Floats  # shape (n,), the mean cosine of each message with the null labels
    null_peaks: Floats  # the largest cosine of each null label with a message
    # shape (n,), the length of the sum of a message's vector and the previous one
    pair_lengths: Floats
    window_lengths: Floats  # shape (n,), the same for the previous message, this one and the next
    stretches: Places  # shape (n,), the number of the stretch of one subject that a message is in
    # shape (n,), the number of the session that a message is in, which ends at a pause; equal to
    # `stretches` if there are no pauses or times
    sessions: Places
    stretch_begins: Places  # the position of each stretch's first message
    session_begins: Places  # the position of each session's first message
    days: Floats | None  # shape (n,), when each message was written; `None` if unknown
    is_answer: Floats  # shape (n,), 1 for answers, else 0
    # positions and case-folded names of messages with a named author
    authors: tuple[tuple[int, str], ...]


class BackgroundMaker:
    """Computes a chat's background, and reuses what stays valid when messages are added.

    Not for concurrent use.

    Args:
        null_labels: Shape (l, d), unit rows: the vectors of subjects that chats rarely mention.
        as_embedded: Maps cosines of another model to the scale of the embedded one.
    """

    def __init__(
        self, null_labels: Matrix, as_embedded: Callable[[Matrix], Matrix] | None = None
    ) -> None:
        self._as_embedded = as_embedded or _unchanged
        self._columns = np.ascontiguousarray(null_labels.T)
        self._usual = np.zeros(0, dtype=np.float32)
        self._links = np.zeros((_REACH, 0), dtype=np.float32)
        self._peaks = np.zeros((0, null_labels.shape[0]), dtype=np.float32)
        self._days = np.zeros(0, dtype=np.float32)
        self._answers = np.zeros(0, dtype=np.float32)
        self._authors: list[str] = []
        self._last: tuple[tuple[Message, ...], Background | None] = ((), None)

    def new(self, messages: Sequence[Message]) -> int:
        """The number of messages whose values are not computed yet."""
        known, background = self._last
        asked = tuple(messages)
        if background is not None and asked == known:
            return 0
        return max(len(asked) - common_length(asked, known), 1)

    def background(self, messages: Sequence[Message], vectors: Matrix) -> Background:
        """The background of a chat.

        Args:
            vectors: Shape (n, d), unit rows or zero rows; fixed for each message.
        """
        asked = tuple(messages)
        known, background = self._last
        if background is not None and asked == known:
            return background
        same = common_length(asked, known)
        self._read(same, vectors)
        added = asked[same:]
        self._days = np.append(self._days[:same], days_of([m.created_at for m in added]))
        answers = np.array([m.role == "assistant" for m in added], dtype=np.float32)
        self._answers = np.append(self._answers[:same], answers)
        self._authors[same:] = map(author_of, added)
        background = self._made()
        self._last = (asked, background)
        return background

    def _read(self, same: int, vectors: Matrix) -> None:
        count = len(vectors)
        first = min(same, len(self._usual)) // BLOCK * BLOCK
        whole = np.zeros((BLOCK + _REACH, vectors.shape[1]), dtype=np.float32)
        usual, links, peaks = [self._usual[:first]], [self._links[:, :first]], []
        for begin in range(first, count, BLOCK):
            end = min(begin + BLOCK, count)
            whole[:] = 0
            start = max(begin - _REACH, 0)
            whole[_REACH - (begin - start) : _REACH + end - begin] = vectors[start:end]
            block = whole[_REACH:]
            near = self._as_embedded(block @ self._columns)
            usual.append(near.mean(axis=1)[: end - begin])
            peaks.append(near[: end - begin].max(axis=0))
            earlier = [whole[_REACH - step : len(whole) - step] for step in range(1, _REACH + 1)]
            linked = np.stack([np.einsum("ij,ij->i", block, rows) for rows in earlier])
            links.append(self._as_embedded(linked)[:, : end - begin])
        self._usual = np.concatenate(usual)
        self._links = np.concatenate(links, axis=1)
        self._peaks = np.vstack([self._peaks[: first // BLOCK], *peaks])

    def _made(self) -> Background:
        one, two, three = self._links
        is_answer, days = self._answers, self._days
        pauses = _pauses(days)
        changes = _changes(one, two, three) & (is_answer == 0)
        stretches = _numbered(changes | pauses)
        empty = np.zeros(len(self._peaks.T), dtype=np.float32)
        sessions = _numbered(pauses) if pauses.any() else stretches
        return Background(
            usual=self._usual,
            null_peaks=self._peaks.max(axis=0) if len(self._peaks) else empty,
            pair_lengths=_length(2 + 2 * one),
            window_lengths=_length(3 + 2 * (one + after(one) + after(two))),
            stretches=stretches,
            sessions=sessions,
            stretch_begins=np.flatnonzero(np.diff(stretches, prepend=-1)),
            session_begins=np.flatnonzero(np.diff(sessions, prepend=-1)),
            days=None if np.isnan(days).all() else days,
            is_answer=is_answer,
            authors=tuple((place, name) for place, name in enumerate(self._authors) if name),
        )


def _unchanged(cosines: Matrix) -> Matrix:
    return cosines


def _changes(one: Floats, two: Floats, three: Floats) -> NDArray[np.bool_]:
    """True where a message and the next one have little in common with the two before them."""
    across = one + two + after(two) + after(three)
    lengths = _length(2 + 2 * before(one)) * _length(2 + 2 * after(one))
    found: NDArray[np.bool_] = across / lengths < _CHANGE
    return found


def author_of(message: Message) -> str:
    """The case-folded `name` of the message, as in the OpenAI API; empty without one."""
    name = message.extra.get("name") if message.extra else None
    return name.casefold() if isinstance(name, str) else ""


def _pauses(days: Floats) -> NDArray[np.bool_]:
    found = np.zeros(len(days), dtype=np.bool_)
    found[1:] = np.diff(days) > _PAUSE_DAYS
    return found


def _numbered(begins: NDArray[np.bool_]) -> Places:
    if not len(begins):
        return np.zeros(0, dtype=np.intp)
    begins = begins.copy()
    begins[0] = False
    return np.cumsum(begins)


def _length(squares: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(squares, _TINY)), dtype=np.float32)
