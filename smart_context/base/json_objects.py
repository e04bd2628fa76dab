"""JSON objects as bytes."""

import json
from collections.abc import Mapping

from smart_context.base.values import JsonObject


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
    """The JSON object in these bytes; `None` if they hold anything else."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
