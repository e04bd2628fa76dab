"""How time and memory of a function grow with the length of what it is given."""

import gc
import signal
import time
import tracemalloc
from collections.abc import Callable

TIMES = 8
MOST_GROWTH = 14.0
"""When a text is 8 times as long; what is linear takes 8 times as long then, what is quadratic 64
times, or less when its quadratic part is fast."""

_PATIENCE_S = 10.0
_MEASURABLE_S = 0.005
_ATTEMPTS = 40

Text = Callable[[int], str]
"""A worst case of about that length."""


class _TooLongError(BaseException):
    """Not an `Exception`: what is measured may catch those."""


def growth(run: Callable[[str], object], make: Text, *, longest: int) -> float:
    """How many times longer a text takes that is 8 times as long; about 8 when linear.

    What takes no measurable time for the longest text counts as linear. Other work on the machine
    makes a measurement longer, never shorter, so the least of several is right, of each.
    """
    for length in (longest // 64, longest // 8):  # what is quadratic need not be waited for
        if seconds(run, make(length)) >= _PATIENCE_S / 4:
            return float("inf")
    longer = shorter = float("inf")
    spent = 0.0
    while spent < _PATIENCE_S * 2:
        last = seconds(run, make(longest))
        spent += max(last, _PATIENCE_S * 2 / _ATTEMPTS)
        longer = min(longer, last)
        if longer < _MEASURABLE_S:
            return 0.0
        if longer >= _PATIENCE_S:
            return float("inf")
        shorter = min(shorter, seconds(run, make(longest // TIMES)))
        if longer / shorter < MOST_GROWTH:
            return longer / shorter
    return longer / shorter


def seconds(run: Callable[[str], object], text: str) -> float:
    """The processor time that it takes; what takes ten seconds is interrupted."""
    former = signal.signal(signal.SIGVTALRM, _interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE_S)
    gc.disable()
    began = time.thread_time()
    try:
        run(text)
    except _TooLongError:
        return _PATIENCE_S
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
    return time.thread_time() - began


MOST_MEMORY_GROWTH = 8.0
"""When an input is 4 times as long; what is linear takes 4 times as much memory then, as lists and
tables grow in steps perhaps 6 times, what is quadratic 16 times."""

_LITTLE = 1 << 16


def memory_growth(run: Callable[[str], object], make: Text, *, longest: int) -> float:
    """How many times more memory an input takes that is 4 times as long; about 4 when linear.

    What twice as long an input takes lies between, or the steps of a table decide. The input itself
    does not count. What takes little memory for the longest one counts as linear.
    """
    peaks = [_peak(run, make(length)) for length in (longest // 4, longest // 2, longest)]
    if peaks[-1] < _LITTLE:
        return 0.0
    return min(peaks[2] / peaks[0], (peaks[2] / peaks[1]) ** 2, (peaks[1] / peaks[0]) ** 2)


def _peak(run: Callable[[str], object], text: str) -> int:
    tracemalloc.start()
    try:
        run(text)
        return max(1, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def _interrupt(*_: object) -> None:
    raise _TooLongError
