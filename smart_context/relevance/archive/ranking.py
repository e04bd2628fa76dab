"""Ranks the messages of all chats for a query; pure.

The rank depends on a message's meaning and words, and on the messages around it: evidence is
often in the answer to the message with the words. The weights were fitted to half of the
dialogues of docs/relevance.md; the figures there are of the other half.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.bm25 import rarity
from smart_context.base.text.words import content_words, spelled_words
from smart_context.chat.messages import ChatId, MessageId
from smart_context.llm.models import Matrix
from smart_context.relevance.archive.card import ChatCard, Floats, Numbers, word_number
from smart_context.relevance.evidence.background import around, before, largest_near
from smart_context.relevance.evidence.dates import dated
from smart_context.relevance.judge.calibrate import MINILM, Scale

MOST_FOUND = 400
"""The most messages of a ranking."""

_REACH = 12
_SHORT, _LONG = 2.5, 5.5
_BLOCK_ROWS = 4_096
_SAMPLE = 4_000

_CLOSE, _CLOSE_AROUND, _CLOSE_NEAR = 4.8, 7.8, 4.1
_SHARE, _SHARE_BEFORE, _SHARE_NEAR = 2.8, 1.5, 4.1
_SHARE_AROUND, _SHARE_OF_CHAT = 3.7, 2.2
_SPOKEN_BY, _DATED, _LENGTH = 2.1, 4.7, 1.25
"""The eleven weights of a message's score, fitted by a softmax over the messages of three LoCoMo
dialogues; see "Recalling from all chats" in docs/relevance.md."""

_LEAST = 0.42
"""The least evidence that some chat mentions the subject; see docs/relevance.md."""

_OF_BEST = 0.5
"""The least share of the best score, both without the part that the longest messages get."""

_OF_SHARE, _OF_OWN_SHARE, _OF_SHARE_ALONE = 0.25, 0.6, 0.75

Places = NDArray[np.intp]
Mask = NDArray[np.bool_]


class RankedMessage(NamedTuple):
    """A message of some chat."""

    chat_id: ChatId
    message_id: MessageId


class Ranking(NamedTuple):
    """The messages that were found."""

    messages: tuple[RankedMessage, ...]  # best first
    # the chats of these with messages without a vector, best first
    lacking: tuple[ChatId, ...]


@dataclass(frozen=True, eq=False)
class SearchedChats:
    """Chats that are searched together."""

    chats: Sequence[ChatId]
    cards: Sequence[ChatCard]  # their messages, in the same order

    @cached_property
    def begins(self) -> Places:
        """Shape (c,), the row of each chat's first message."""
        return np.cumsum([0, *(len(card.keys) for card in self.cards)])[:-1]

    @cached_property
    def chat_of(self) -> Places:
        """Shape (n,), the place of the chat of each message."""
        return np.repeat(np.arange(len(self.cards)), [len(card.keys) for card in self.cards])

    @cached_property
    def slots(self) -> Places:
        """Shape (n,), a place for each message, so that the windows of two chats don't overlap."""
        rows = np.arange(len(self.chat_of))
        return rows + _REACH * (self.chat_of + 1)

    @cached_property
    def words(self) -> Numbers:
        """Shape (p,), the words of all messages."""
        return _joined([card.words for card in self.cards], np.uint32)

    @cached_property
    def places(self) -> Places:
        """Shape (p,), the row of the message that each word is in."""
        pairs = zip(self.cards, self.begins.tolist(), strict=True)
        return _joined([card.places.astype(np.intp) + begin for card, begin in pairs], np.intp)

    @cached_property
    def days(self) -> Floats:
        """Shape (n,), the days on which the messages were written."""
        return _joined([card.days for card in self.cards], np.float32)

    @cached_property
    def lengths(self) -> Floats:
        """Shape (n,), the logarithmic lengths of the messages, limited to 2.5 to 5.5."""
        characters = _joined([card.lengths for card in self.cards], np.float32)
        return np.asarray(np.clip(np.log1p(characters), _SHORT, _LONG), dtype=np.float32)

    @cached_property
    def authors(self) -> tuple[tuple[int, str], ...]:
        """The rows with a named author."""
        names = (name for card in self.cards for name in card.authors)
        return tuple((row, name) for row, name in enumerate(names) if name)

    def cosines(self, query: Floats) -> Floats:
        """Shape (n,), the cosines of the messages with a query; 0 for messages without a vector."""
        found = [_cosines(card, query) for card in self.cards]
        return _joined(found, np.float32)

    def sample(self, query: Floats) -> Floats:
        """The cosines of a query with a sample of the messages, to estimate typical values."""
        step = max(1, len(self.chat_of) // _SAMPLE)
        return self.cosines(query)[::step]

    def spread(self, values: Floats) -> Matrix:
        """Shape (1, m): the values with `_REACH` zeros before and after each chat."""
        size = len(values) + _REACH * (len(self.cards) + 1)
        wide = np.zeros((1, size), dtype=np.float32)
        wide[0, self.slots] = values
        return wide


def ranked(
    archive: SearchedChats,
    text: str,
    query: Floats,
    *,
    scale: Scale = MINILM,
    without: Collection[ChatId] = (),
) -> Ranking:
    """The messages that are about a text, best first; none if no chat is about it.

    Args:
        query: Its vector, of unit length or zero.
        without: Chats to leave out; private ones are always left out.
    """
    if not len(archive.chat_of):
        return Ranking((), ())
    close = archive.cosines(query)
    if scale is not MINILM:
        close = scale.as_embedded(close)
    shares, around_, of_chat = _shares(archive, text)
    evidence = np.maximum(
        np.where(close == 0, _OF_SHARE_ALONE * around_, close + _OF_SHARE * around_),
        _OF_OWN_SHARE * shares,
    )
    scores = _scores(archive, text, close, shares, around_, of_chat)
    outside = [
        place
        for place, (chat_id, card) in enumerate(zip(archive.chats, archive.cards, strict=True))
        if card.is_private or chat_id in without
    ]
    allowed = ~np.isin(archive.chat_of, outside)
    if not (evidence[allowed] >= _LEAST).any():
        return Ranking((), ())
    scores[~allowed] = -np.inf
    return _best(archive, scores)


def _scores(
    archive: SearchedChats,
    text: str,
    close: Floats,
    shares: Floats,
    around_: Floats,
    of_chat: Floats,
) -> Floats:
    slots = archive.slots
    wide_close, wide_shares = archive.spread(close), archive.spread(shares)
    present = around(archive.spread(np.ones_like(close)))
    mean = (around(wide_close) / np.maximum(present, np.float32(1e-6)))[0, slots]
    said_when = dated(text, archive.days)
    scores = _CLOSE * close + _CLOSE_AROUND * mean
    scores += _CLOSE_NEAR * _largest(wide_close)[0, slots]
    scores += _SHARE * shares + _SHARE_BEFORE * before(wide_shares)[0, slots]
    scores += _SHARE_NEAR * largest_near(wide_shares)[0, slots]
    scores += _SHARE_AROUND * around_ + _SHARE_OF_CHAT * of_chat
    scores += _LENGTH * archive.lengths
    spoken = frozenset(spelled_words(text)) if archive.authors else frozenset()
    named = [row for row, name in archive.authors if name in spoken]
    scores[named] += _SPOKEN_BY
    if said_when is not None:
        scores += _DATED * said_when
    return np.asarray(scores, dtype=np.float32)


def _shares(archive: SearchedChats, text: str) -> tuple[Floats, Floats, Floats]:
    """The share of the text's words, rare ones weighing more, in three ranges.

    Returns:
        Shape (n,) each: in the message, in the messages around it, in its chat.
    """
    count = len(archive.chat_of)
    own = np.zeros(count, dtype=np.float32)
    near = np.zeros((1, count + _REACH * (len(archive.cards) + 1)), dtype=np.float32)
    of_chat = np.zeros(len(archive.cards), dtype=np.float32)
    total = 0.0
    for word in dict.fromkeys(content_words(text)):
        rows = archive.places[archive.words == word_number(word)]
        weight = np.float32(rarity(len(rows), count))
        total += float(weight)
        own[rows] += weight
        has_word = np.zeros_like(near)
        has_word[0, archive.slots[rows]] = weight
        near += _largest(has_word)
        of_chat[np.unique(archive.chat_of[rows])] += weight
    scale = np.float32(1 / total) if total else np.float32(0)
    return own * scale, near[0, archive.slots] * scale, of_chat[archive.chat_of] * scale


def _largest(values: Matrix) -> Matrix:
    """The largest value of each place and up to twelve on either side."""
    largest = values.copy()
    for step in (1, 2, 4, _REACH - 7):
        earlier = largest.copy()
        np.maximum(largest[..., step:], earlier[..., :-step], out=largest[..., step:])
        np.maximum(largest[..., :-step], earlier[..., step:], out=largest[..., :-step])
    return largest


def _best(archive: SearchedChats, scores: Floats) -> Ranking:
    base = _LENGTH * _LONG
    least = base + _OF_BEST * (float(scores.max()) - base)
    count = min(MOST_FOUND, max(1, int((scores >= least).sum())))
    some = np.argpartition(-scores, count - 1)[:count] if count < len(scores) else np.arange(count)
    rows = some[np.argsort(-scores[some], kind="stable")]
    places = archive.chat_of[rows]
    messages = tuple(
        RankedMessage(
            archive.chats[place],
            archive.cards[place].message_id(row - int(archive.begins[place])),
        )
        for row, place in zip(rows.tolist(), places.tolist(), strict=True)
    )
    lacking = [place for place in dict.fromkeys(places.tolist()) if archive.cards[place].lacking]
    return Ranking(messages, tuple(archive.chats[place] for place in lacking))


def _cosines(card: ChatCard, query: Floats) -> Floats:
    if card.vectors.shape[1] != len(query):
        return np.zeros(len(card.keys), dtype=np.float32)
    products = [
        card.vectors[begin : begin + _BLOCK_ROWS].astype(np.float32) @ query
        for begin in range(0, len(card.keys), _BLOCK_ROWS)
    ]
    return _joined(products, np.float32) * card.scales


def _joined(arrays: Sequence[NDArray[np.generic]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *arrays])
