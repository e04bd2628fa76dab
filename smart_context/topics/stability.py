"""Keeps labels stable: a group keeps its previous label while it fits."""

from collections.abc import Sequence

import numpy as np

from smart_context.base.text.words import content_words
from smart_context.llm.models import Matrix

_FITS = 0.55
_MARGIN = 0.12
_WORDS = 0.5


def reused_labels(
    previous: Sequence[str],
    closeness: Matrix,
    texts: Sequence[str],
    groups: Sequence[Sequence[int]],
) -> dict[int, str]:
    """The previous labels that still fit, by group; each is used at most once.

    A label fits a group if it is close to it in meaning and words, and clearly closer than to the
    other groups.

    Args:
        previous: The previous labels.
        closeness: Shape (len(previous), len(groups)): cosines of labels and groups' centres.
        texts: The texts of the chat's messages.
        groups: Positions of the messages of each group.
    """
    if not previous or not groups:
        return {}
    evidence = closeness + _WORDS * _word_shares(previous, texts, groups)
    ordered = np.sort(evidence, axis=1)
    second = ordered[:, -2] if len(groups) > 1 else np.full(len(previous), -np.inf)
    reused: dict[int, str] = {}
    for place in np.argsort(-ordered[:, -1], kind="stable"):
        group = int(evidence[place].argmax())
        best = evidence[place, group]
        if best >= _FITS and best - second[place] >= _MARGIN and group not in reused:
            reused[group] = previous[place]
    return reused


def _word_shares(
    labels: Sequence[str], texts: Sequence[str], groups: Sequence[Sequence[int]]
) -> Matrix:
    """Shape (labels, groups): how a label's words are spread over the groups, as shares."""
    words_of = [[frozenset(content_words(texts[place])) for place in group] for group in groups]
    shares = np.zeros((len(labels), len(groups)), dtype=np.float32)
    for row, label in enumerate(labels):
        wanted = frozenset(content_words(label))
        for column, messages in enumerate(words_of):
            shares[row, column] = sum(len(wanted & words) for words in messages)
    totals = shares.sum(axis=1, keepdims=True)
    return np.asarray(shares / np.where(totals > 0, totals, 1), dtype=np.float32)
