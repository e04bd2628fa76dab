"""The words of all notes, kept in a file between starts."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from smart_context.base.caches import Caches
from smart_context.base.text.bm25 import Numbers, Postings
from smart_context.vault.guarded.walk import FileStamp

WORDS_FILE = "words"
"""The name of the word index's file."""

_FORMAT = b"smart-context words 1"  # raise it with every change to how words are split
_NUMBER = np.dtype("<u4")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptWords:
    """A word index with the notes that it was made from."""

    # the stamp of each document's note; `None` for a note that is gone or changed
    stamps: Sequence[FileStamp | None]
    postings: Postings  # the words of the documents


def write_words(caches: Caches, kept: KeptWords) -> None:
    """Replace the file; raises `StoreFailed` if the disk refuses; the old file is intact."""
    found = kept.postings
    numbers = (found.ends, found.positions, found.counts, found.lengths)
    parts = [
        json.dumps(kept.stamps, ensure_ascii=True, separators=(",", ":")).encode(),
        "\n".join(found.words).encode(),
        *(part.astype(_NUMBER, copy=False).tobytes() for part in numbers),
    ]
    body = b"".join(parts)
    head = json.dumps({"sizes": list(map(len, parts)), "checksum": zlib.crc32(body)})
    caches.write(WORDS_FILE, b"\n".join((_FORMAT, head.encode(), body)))


def read_words(caches: Caches) -> KeptWords | None:
    """The index in the file; `None` if missing, damaged or of another version."""
    try:
        name, head, body = caches.read(WORDS_FILE).split(b"\n", 2)
        return _parsed(json.loads(head), body) if name == _FORMAT else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _parsed(head: dict[str, object], body: bytes) -> KeptWords:
    """The index in a file's body; raises ValueError or TypeError if it is damaged."""
    sizes = head["sizes"]
    if not isinstance(sizes, list) or sum(sizes) != len(body) or min(sizes) < 0:
        raise ValueError("other sizes")
    if zlib.crc32(body) != head["checksum"]:
        raise ValueError("another checksum")
    stamps, words, *numbers = (body[a:b] for a, b in pairwise(accumulate(sizes, initial=0)))
    ends, positions, counts, lengths = (np.frombuffer(part, dtype=_NUMBER) for part in numbers)
    postings = Postings(
        words=words.decode().split("\n") if words else [],
        ends=ends,
        positions=positions,
        counts=counts,
        lengths=lengths,
    )
    _check(postings)
    return KeptWords(stamps=_stamps(stamps, len(lengths)), postings=postings)


def _check(found: Postings) -> None:
    """Raise ValueError for postings that would lead outside of their arrays."""
    ends: Numbers = found.ends
    if (
        len(found.words) != len(ends)
        or len(found.positions) != len(found.counts)
        or (ends[1:] < ends[:-1]).any()
        or (int(ends[-1]) if len(ends) else 0) != len(found.positions)
        or (len(found.positions) and int(found.positions.max()) >= len(found.lengths))
    ):
        raise ValueError("the postings don't fit together")


def _stamps(content: bytes, documents: int) -> list[FileStamp | None]:
    stamps = [None if row is None else _stamp(*row) for row in json.loads(content)]
    paths = [stamp[0] for stamp in stamps if stamp is not None]
    if len(stamps) != documents or len(paths) != len(set(paths)):
        raise ValueError("the stamps don't fit the documents")
    return stamps


def _stamp(path: object, mtime_ns: object, size: object, inode: object) -> FileStamp:
    if not isinstance(path, str):
        raise TypeError("a path is text")
    if not (isinstance(mtime_ns, int) and isinstance(size, int) and isinstance(inode, int)):
        raise TypeError("a stamp has three numbers")
    return path, mtime_ns, size, inode
