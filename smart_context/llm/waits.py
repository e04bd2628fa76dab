"""Tells who waits for an answer when a busy model will be asked again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_hearers: ContextVar[list[Callable[[float], None]] | None] = ContextVar("hearers", default=None)


@contextmanager
def hearing_waits(hear: Callable[[float], None]) -> Iterator[None]:
    """Within it, `hear` gets the seconds of each wait of this task, and of those it starts."""
    hearers = [hear]
    token = _hearers.set(hearers)
    try:
        yield
    finally:
        _hearers.reset(token)
        hearers.clear()  # a task that outlives this one tells nobody


def tell_wait(seconds: float) -> None:
    """A model was busy, and is asked again after so many seconds."""
    for hear in _hearers.get() or ():
        hear(seconds)
