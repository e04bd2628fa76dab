"""Names for the shapes of values that pass between packages."""

from collections.abc import Callable
from typing import Any, NewType

JsonObject = dict[str, Any]
"""An object as JSON has it: from a file, a frame or a model, not yet checked."""

CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""

PersonId = NewType("PersonId", str)
"""Names a person who asks for something."""

OWNER = PersonId("owner")
"""The one person of a server that has no others: whoever its gate lets in."""

NOBODY = PersonId("")
"""Who asks when no gate has said so; nothing is theirs."""

OWN_KEY = "token"
"""The client name of requests with the server's own token; no other key has it."""


def text_in(value: object) -> str:
    """A value that should be a string; empty if it is anything else."""
    return value if isinstance(value, str) else ""
