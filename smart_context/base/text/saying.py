"""Words about something, for users: they describe it, and never decide whether it happens."""

import logging
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_logger = logging.getLogger(__name__)


def said(words: Callable[[], T], otherwise: T) -> T:
    """The words, or other ones if making them fails.

    What is described has happened, or is asked for, all the same; the log has the fault.
    """
    try:
        return words()
    except Exception:
        _logger.exception("words could not be made; instead: %r", otherwise)
        return otherwise
