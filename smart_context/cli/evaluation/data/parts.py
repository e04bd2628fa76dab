"""Divides dialogues into parts to fit to, to choose settings by, and to report on."""

import random
from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

Part = Literal["all", "fit", "choose", "report"]
PARTS: tuple[Part, ...] = get_args(Part)

T = TypeVar("T")

_SHARES = {"fit": (0.0, 0.6), "choose": (0.6, 0.8), "report": (0.8, 1.0)}
_SEED = 3
_FEW = 10


def part_of(dialogues: Sequence[T], part: Part) -> list[T]:
    """Three fifths to fit to, one to choose by, one to report on; the same in each run.

    Up to ten dialogues are divided in order; more are shuffled first.
    """
    if part == "all":
        return list(dialogues)
    count = len(dialogues)
    order = list(range(count))
    if count > _FEW:
        order = random.Random(_SEED).sample(order, count)  # noqa: S311 -- repeatable
    begin, end = (int(share * count) for share in _SHARES[part])
    return [dialogues[place] for place in sorted(order[begin:end])]
