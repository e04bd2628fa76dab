"""How alike chat topics are: rows whose dot product compares meaning and words at once."""

import math
from collections.abc import Sequence

import numpy as np

from smart_context.llm.models import Matrix
from smart_context.topics.atlas.values import ChatTopic
from smart_context.topics.clusters.unit_length import at_unit_length

_WIDTH = 512
_MEANING_ENGLISH, _MEANING, _MEANING_UNREAD = 0.6, 1.0, 0.25
"""The weight of meaning; words have the rest. A model that does not know a language tells little
but which one it is."""

_FEW, _LEAST_OF_FEW = 10, 0.3
_MANY, _LEAST_OF_MANY = 2_000, 0.37


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
    other = _MEANING if reads_all else _MEANING_UNREAD
    meaning = _meanings(topics)
    weight = np.array(
        [_MEANING_ENGLISH if each.language in {"", "en"} else other for each in topics]
    )[:, None]
    weight = np.where(np.any(meaning, axis=1, keepdims=True), weight, 0.0)
    rows = np.hstack([meaning * np.sqrt(weight), _words(topics) * np.sqrt(1 - weight)])
    return at_unit_length(np.asarray(rows, dtype=np.float32))


def _meanings(topics: Sequence[ChatTopic]) -> Matrix:
    width = max(len(each.vector) for each in topics)
    rows = np.zeros((len(topics), width), dtype=np.float32)
    for row, each in zip(rows, topics, strict=True):
        row[: len(each.vector)] = each.vector
    return at_unit_length(rows)


def _words(topics: Sequence[ChatTopic]) -> Matrix:
    """The words as rows of a fixed random projection, weighted by rarity."""
    every = np.concatenate([each.words for each in topics])
    if not len(every):
        return np.zeros((len(topics), _WIDTH), dtype=np.float32)
    known, holding = np.unique(every, return_counts=True)
    rarity = np.log(1 + len(topics) / holding)
    rows = np.zeros((len(topics), _WIDTH), dtype=np.float32)
    for row, each in zip(rows, topics, strict=True):
        weights = rarity[np.searchsorted(known, each.words)] * np.log1p(each.counts)
        mixed = each.words * np.uint32(2_654_435_761)
        signs = np.where(mixed >> np.uint32(31), 1.0, -1.0)
        np.add.at(row, (mixed >> np.uint32(8)) % _WIDTH, signs * weights)
    return at_unit_length(rows)
