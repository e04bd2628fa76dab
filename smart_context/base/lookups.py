"""Looks things up once for each request, and for the tasks and threads that it starts."""

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

KEPT_FOR_S = 1.0
"""Seconds for which a request, and the work that it starts, reuses a value that it looked up."""

_found: ContextVar[dict[tuple[object, Hashable], tuple[float, Any]] | None] = ContextVar(
    "found", default=None
)


@contextmanager
def one_request() -> Iterator[None]:
    """Look things up once within a block, and in the tasks and threads that it starts.

    A value is reused for `KEPT_FOR_S` at most, and never by another request.
    """
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


class Lookups(Generic[K, T]):
    """The values of one kind that the current request has looked up, by key."""

    def get(self, key: K) -> T | None:
        """The value that this request looked up within the last second; `None` if there is none."""
        known = _found.get()
        at, value = known.get((self, key), (0.0, None)) if known else (0.0, None)
        return value if time.monotonic() < at + KEPT_FOR_S else None

    def keep(self, key: K, value: T) -> None:
        """Remember a value for the rest of this request, if there is one."""
        known = _found.get()
        if known is not None:
            known[self, key] = time.monotonic(), value
