"""The index's entries: made of files that were read, and converted to rows of its database."""

import json
import marshal
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from smart_context.vault.guarded.files import FileText
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.markdown.canvas import canvas_outline
from smart_context.vault.markdown.links import link_key
from smart_context.vault.markdown.notes import Outline, outline_of

NOT_TEXT = -1
"""A file's length in the database if it is not text; `NULL` if it was never opened."""

_POSTINGS = 500
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))

FileRow = tuple[int, str, int, int, int, int | None, str | None]


class IndexEntry(NamedTuple):
    """The index's entry of a file."""

    stamp: FileStamp  # the file's stamp when it was read
    outline: Outline | None = None  # `None` when it was not opened, or is not text
    is_known: bool = True  # whether it was opened


def numbered_rows(
    numbered: Iterable[tuple[int, IndexEntry]], sources: dict[str, list[int]]
) -> Iterator[FileRow]:
    """Rows to store; adds the files' numbers to `sources` by the keys of their links.

    A generator that keeps no entry, so that indexing a large vault does not fill the memory.
    """
    for number, entry in numbered:
        for key in link_keys(entry.outline):
            sources.setdefault(key, []).append(number)
        yield number, *entry.stamp, stored_length(entry), encoded(entry.outline)


def postings(sources: dict[str, list[int]]) -> Iterator[tuple[str, int, str | None]]:
    """Rows of the table of links: a key, a file's number, and up to 499 more as JSON."""
    for key in sorted(sources):
        numbers = sources[key]
        for start in range(0, len(numbers), _POSTINGS):
            first, *more = numbers[start : start + _POSTINGS]
            yield key, first, str(more) if more else None


def link_keys(outline: Outline | None) -> set[str]:
    """The keys of a file's links."""
    keys = {link_key(link.target) for link in outline.links} if outline is not None else set()
    keys.discard("")
    return keys


def stored_length(entry: IndexEntry) -> int | None:
    """The file's length in characters, `NOT_TEXT`, or `None` if it was not opened."""
    if entry.outline is not None:
        return entry.outline.length
    return NOT_TEXT if entry.is_known else None


def encoded(outline: Outline | None) -> str | None:
    """An outline as JSON."""
    return None if outline is None else _ENCODER.encode(outline)


def decoded(outline: str) -> Outline:
    """The outline that was encoded.

    Raises:
        ValueError, TypeError, RecursionError: If it is damaged.
    """
    return Outline.from_json(json.loads(outline))


_PLAIN_MARSHAL = 2  # equal values give equal bytes; written, never read
_SETTLED_NS = 50_000_000  # a file changed less than 50 ms ago may change again within its stamp


def is_note(path: str) -> bool:
    """True for a file that is read for the index; others are read when asked for."""
    return path[-7:].lower().endswith((".md", ".canvas"))


def entry_of(path: str, found: FileText) -> IndexEntry:
    """The entry of a file that was read.

    The stamp of a file that changed just now gets the time 0, so that it is read again: it may
    change once more within the same tick of the clock.
    """
    is_settled = time.time_ns() - found.mtime_ns > _SETTLED_NS
    stamp = (path, found.mtime_ns if is_settled else 0, found.size, found.inode)
    return IndexEntry(stamp, _outline(path, found.text.removeprefix("\ufeff")))


def digest_of(stamps: list[FileStamp]) -> bytes:
    """A digest of the stamps in their order."""
    return blake2b(marshal.dumps(stamps, _PLAIN_MARSHAL), digest_size=16).digest()


def _outline(path: str, text: str) -> Outline:
    if not is_note(path):
        return Outline(len(text))
    return outline_of(text) if path[-3:].lower() == ".md" else canvas_outline(text)
