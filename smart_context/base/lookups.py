"""Looks things up once for each request, and for the tasks and threads that it starts."""

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

KEPT_FOR_S = 1.0
"""How long a request, and work that it started, goes by what it found."""

_found: ContextVar[dict[tuple[object, Hashable], tuple[float, Any]] | None] = ContextVar(
    "found", default=None
)


@contextmanager
def one_request() -> Iterator[None]:
    """Look things up once within a block, and in the tasks and threads that it starts.

    What was so when a request came in holds for all of it, but not for the next one.
    """
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


class Lookups(Generic[K, T]):
    """What each request has found in one place, by key."""

    def get(self, key: K) -> T | None:
        """What this request found within the last second; `None` if it found nothing."""
        known = _found.get()
        at, value = known.get((self, key), (0.0, None)) if known else (0.0, None)
        return value if time.monotonic() < at + KEPT_FOR_S else None

    def keep(self, key: K, value: T) -> None:
        """Remember a value for the rest of this request, if there is one."""
        known = _found.get()
        if known is not None:
            known[self, key] = time.monotonic(), value
