"""Small JSON files: written whole, and read as empty when missing or damaged."""

import json
from collections.abc import Mapping
from pathlib import Path

from smart_context.base.disk.files import MAX_FILE_BYTES, Signature, atomic_write
from smart_context.base.disk.folders import read_inside
from smart_context.base.disk.places import Place
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


def read_object(path: Path | Place, *, max_bytes: int = MAX_FILE_BYTES) -> JsonObject:
    """The object in a JSON file; empty if missing, damaged, too large or refused.

    The file stays as it is, so nothing is lost until the caller writes it.
    """
    try:
        return parsed(read_inside(path, max_bytes=max_bytes)) or {}
    except (OSError, ValueError):
        return {}


def write_object(
    path: Path | Place, document: Mapping[str, object], *, indent: int | None = None
) -> Signature:
    """Write a JSON object as `atomic_write` does.

    Raises:
        StoreFailed: The disk refuses; the old file is intact.
    """
    return atomic_write(path, encoded(document, indent=indent))
