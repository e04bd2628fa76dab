"""What a fixed piece of work takes here and now: what else takes time is measured by it."""

import json
import time
from collections.abc import Callable

_DOCUMENT = json.dumps(
    {"rows": [{"id": f"m{n}", "content": "some words " * 4} for n in range(9_000)]}
)


def yardstick_s(clock: Callable[[], float] = time.thread_time) -> float:
    """The seconds that some work in Python takes, about 0.007 on a machine of 2022.

    A machine that is slow, or slow at the moment, takes longer for it as it does for the rest. The
    longest of three counts: nothing is to fail because one of them was lucky.

    Args:
        clock: What counts the seconds; by default the processor time of the thread that asks.
    """
    return max(_seconds(clock) for _ in range(3))


def _seconds(clock: Callable[[], float]) -> float:
    began = clock()
    rows = json.loads(_DOCUMENT)["rows"]
    {row["id"]: sum(map(len, row["content"].split())) for row in rows}
    return clock() - began
