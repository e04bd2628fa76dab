"""Decides from which probability on messages are kept, for a chat as a whole."""

from collections.abc import Sequence

import numpy as np

from smart_context.relevance.evidence.background import Floats
from smart_context.relevance.judge.calibrate import PROBABLY

_LEAST_SHARE = 0.25
_FLOOR, _FLOOR_FROM = 0.6, 0.5


def cut_of(likely: Floats, threshold: float, sure: float = 1.0) -> float:
    """The probability from which messages are kept; it rises with the threshold.

    At 0.4, a message is kept if it is at least a quarter as likely as the chat's messages on
    average: of all rules with the same tokens, this one finds most of the evidence. Messages that
    are far less likely than a certain best one are left out. Above 0.4, the likeliest are kept
    until they hold the wanted share of the sum: half of it at 0.7, only the best at 1.

    Args:
        likely: Shape (n,), the messages' probabilities; not empty.
        threshold: The user's, at most 1; from 0 downwards all are kept.
        sure: The probability that any message is about the topic, above 0. It is a factor of all
            others, so it does not change which messages are kept.
    """
    if threshold <= 0:
        return threshold
    best = float(likely.max())
    floor = _FLOOR * max(0.0, best - _FLOOR_FROM * sure)
    usual = max(_LEAST_SHARE * float(likely.mean()), floor)
    if threshold <= PROBABLY:
        return usual * (threshold / PROBABLY) ** 2
    return max(usual, holding(likely, _wanted(threshold)))


def holding(likely: Floats, share: float) -> float:
    """The largest probability such that the messages from it on hold that share of the sum."""
    order = np.sort(likely)[::-1]
    sums = np.cumsum(order, dtype=np.float64)
    return float(order[min(int(np.searchsorted(sums, share * sums[-1])), len(order) - 1)])


def members_cut(likely: Sequence[float] | Floats, threshold: float) -> float:
    """The probability from which a found topic's own messages are kept: all of them up to 0.4."""
    if threshold <= PROBABLY or not len(likely):
        return 0.0
    return holding(np.asarray(likely), _wanted(threshold))


def _wanted(threshold: float) -> float:
    """The share of the expected messages that a threshold above 0.4 keeps."""
    return 1 - (threshold - PROBABLY) / (1 - PROBABLY)
