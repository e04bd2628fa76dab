"""Small JSON files: written whole, and read as empty when missing or damaged."""

from collections.abc import Mapping
from pathlib import Path

from smart_context.base.disk.files import MAX_FILE_BYTES, Signature, atomic_write
from smart_context.base.disk.folders import read_inside
from smart_context.base.disk.places import Place
from smart_context.base.json_objects import encoded, parsed
from smart_context.base.values import JsonObject


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
