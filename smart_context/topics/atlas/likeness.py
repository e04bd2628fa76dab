"""How alike chat topics are: rows whose dot product compares meaning and words at once."""

import math
from collections.abc import Sequence

import numpy as np

from smart_context.llm.models import Matrix
from smart_context.topics.atlas.values import ChatTopic, Hashes
from smart_context.topics.clusters.unit_length import at_unit_length

_WIDTH = 512
_MEANING_ENGLISH, _MEANING, _MEANING_UNREAD = 0.6, 0.8, 0.25
"""The weight of meaning; words have the rest. A model that does not know a language tells little
but which one it is."""

_FEW, _LEAST_OF_FEW = 10, 0.3
_MANY, _LEAST_OF_MANY = 2_000, 0.42
_BLOCK = 1_024
"""The number of rows made at once: an archive of 10,000 chats has some 30,000."""


def least_likeness(count: int) -> float:
    """The least mean likeness of the chat topics of one topic, where there are so many in all.

    Among few, those that are most alike are on one subject; among many there are near subjects.
    """
    share = math.log(max(count, 1) / _FEW) / math.log(_MANY / _FEW)
    return _LEAST_OF_FEW + (_LEAST_OF_MANY - _LEAST_OF_FEW) * min(max(share, 0.0), 1.0)


def likeness_rows(topics: Sequence[ChatTopic], *, reads_all: bool) -> Matrix:
    """Shape (n, d + 512): unit rows; their dot product is the likeness of two chat topics.

    Args:
        topics: The n chat topics; words count by their rarity among them.
        reads_all: The embedding model knows every language; else only English.
    """
    if not topics:
        return np.zeros((0, 0), dtype=np.float32)
    width = max(len(each.vector) for each in topics)
    other = _MEANING if reads_all else _MEANING_UNREAD
    known, holding = np.unique(np.concatenate([each.words for each in topics]), return_counts=True)
    rarity = np.log(1 + len(topics) / holding)
    rows = np.zeros((len(topics), width + _WIDTH), dtype=np.float32)
    for start in range(0, len(topics), _BLOCK):
        some = topics[start : start + _BLOCK]
        block = rows[start : start + _BLOCK]
        for row, each in zip(block, some, strict=True):
            row[: len(each.vector)] = each.vector
        weight = np.array(
            [_MEANING_ENGLISH if each.language in {"", "en"} else other for each in some],
            dtype=np.float32,
        )[:, None]
        weight *= block.any(axis=1, keepdims=True)
        words = np.concatenate([each.words for each in some])
        counts = np.log1p(np.concatenate([each.counts for each in some]).astype(np.float32))
        weights = rarity[np.searchsorted(known, words)] * counts
        block[:, :width] = at_unit_length(block[:, :width]) * np.sqrt(weight)
        block[:, width:] = _projected(some, words, weights) * np.sqrt(1 - weight)
        block[:] = at_unit_length(block)
    return rows


def _projected(topics: Sequence[ChatTopic], words: Hashes, weights: Matrix) -> Matrix:
    """Shape (n, 512): the weighted words of all topics, by a fixed random projection."""
    mixed = words * np.uint32(2_654_435_761)
    signs = np.where(mixed >> np.uint32(31), 1.0, -1.0)
    row = np.repeat(np.arange(len(topics)), [len(each.words) for each in topics])
    places = row * _WIDTH + (mixed >> np.uint32(8)) % _WIDTH
    sums = np.bincount(places, signs * weights, len(topics) * _WIDTH)
    return at_unit_length(sums.reshape(len(topics), _WIDTH).astype(np.float32))
