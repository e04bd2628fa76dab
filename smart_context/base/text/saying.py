"""Descriptions for users; a description that fails never stops the action it describes."""

import logging
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_logger = logging.getLogger(__name__)


def said(words: Callable[[], T], otherwise: T) -> T:
    """The description, or `otherwise` if making it fails; the failure is logged."""
    try:
        return words()
    except Exception:
        _logger.exception("words could not be made; instead: %r", otherwise)
        return otherwise
