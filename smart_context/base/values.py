"""The shapes of values that pass between packages, and JSON objects as bytes."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NewType

from smart_context.base.json_limits import too_much

JsonObject = dict[str, Any]
"""An object as JSON has it: from a file, a frame or a model, not yet checked."""

CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""

PersonId = NewType("PersonId", str)
"""Names a person who asks for something."""

OWNER = PersonId("owner")
"""The only person of a server for one: everyone whom its gate lets in."""

NOBODY = PersonId("")
"""The person of a request that passed no gate; owns nothing."""

OWN_KEY = "token"
"""The client name of requests with the server's own token; no other key has it."""


def person_tag(person: PersonId) -> str:
    """A person's part of file and document names: hex digits in lower case; empty for the owner."""
    if person == OWNER:
        return ""
    return hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def text_in(value: object) -> str:
    """A value that should be a string; empty if it is anything else."""
    return value if isinstance(value, str) else ""


def encoded(document: Mapping[str, object], *, indent: int | None = None) -> bytes:
    """A JSON object as bytes; `parsed` reads back even text that UTF-8 can't hold.

    Args:
        indent: Spaces for each level; `None` writes one compact line.
    """
    if indent:
        text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
    else:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def parsed(content: bytes) -> JsonObject | None:
    """The JSON object in these bytes; `None` if they hold anything else, or too many objects."""
    if too_much(content):
        return None
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def id_in(value: object) -> str:
    """The id in a field that holds a text or an object; empty if there is none."""
    if isinstance(value, Mapping):
        value = value.get("id")
    return value.strip() if isinstance(value, str) else ""
