"""Words about something, for users: they describe it, and never decide whether it happens."""

import logging
from collections.abc import Callable

_logger = logging.getLogger(__name__)


def said(words: Callable[[], str], otherwise: str) -> str:
    """The words, or other ones if making them fails.

    What is described has happened, or is asked for, all the same; the log has the fault.
    """
    try:
        return words()
    except Exception:
        _logger.exception("words could not be made; instead: %r", otherwise)
        return otherwise
