"""True if a client waits for the current work: a context variable that the work inherits."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context

_is_waited_for: ContextVar[bool] = ContextVar("is_waited_for", default=False)


def is_waited_for() -> bool:
    """True if a client waits for the current work; such work goes before background work."""
    return _is_waited_for.get()


@contextmanager
def waited_for() -> Iterator[None]:
    """Mark the work within a block as waited for by a client; background tasks are not."""
    token = _is_waited_for.set(True)
    try:
        yield
    finally:
        _is_waited_for.reset(token)


def in_background() -> Context:
    """A copy of this context for background work, which no client waits for."""
    context = copy_context()
    context.run(_is_waited_for.set, False)
    return context
