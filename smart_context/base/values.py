"""Names for the shapes of values that pass between packages."""

from collections.abc import Callable
from typing import Any

JsonObject = dict[str, Any]
"""An object as JSON has it: from a file, a frame or a model, not yet checked."""

CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""

OWN_KEY = "token"
"""The client name of requests with the server's own token; no other key has it."""
