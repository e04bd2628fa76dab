"""Divides dialogues in parts to fit on, to choose by and to report."""

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
    """Three fifths to fit on, one to choose by, one to report; always the same ones.

    A few dialogues are taken in their order, many are shuffled first.
    """
    if part == "all":
        return list(dialogues)
    count = len(dialogues)
    order = list(range(count))
    if count > _FEW:
        order = random.Random(_SEED).sample(order, count)  # noqa: S311 -- can be repeated
    begin, end = (int(share * count) for share in _SHARES[part])
    return [dialogues[place] for place in sorted(order[begin:end])]
