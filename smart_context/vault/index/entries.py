"""Makes the index's entry of a file that was read."""

import marshal
import time
from hashlib import blake2b

from smart_context.vault.guarded.files import FileText
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.index.rows import IndexEntry
from smart_context.vault.markdown.canvas import canvas_outline
from smart_context.vault.markdown.notes import Outline, outline_of

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
