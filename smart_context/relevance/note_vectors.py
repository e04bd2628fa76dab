"""Finds notes by meaning: each note's card is embedded once and compared with a query.

The vectors are in a file that can be deleted at any time, and in a matrix in memory. Both hold
16-bit floats: 768 bytes per note at 384 dimensions, 38 MB for 50,000 notes. This changes cosines
by less than 0.001.
"""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smart_context.base.caches import Caches
from smart_context.base.threads import in_daemon_thread
from smart_context.llm.models import Embedder, Matrix
from smart_context.relevance.kept_rows import KeptRows
from smart_context.relevance.vectors.cosines import unit
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.markdown.notes import Outline

MOST_NOTES = 100_000
"""The maximum number of notes; further ones are not added."""

TABLE_FILE: Final = "notes.sqlite3"
"""The name of the vectors' database."""

_BLOCK_ROWS = 4_096
_FIRST_ROWS = 256


class Card(NamedTuple):
    """A note's stamp, and a hash of its embedded text."""

    stamp: FileStamp
    digest: bytes


class NoteTable:
    """Vectors by path. Disk trouble costs time, never an answer. Safe for several threads.

    Args:
        model: The embedding model; vectors of another one are dropped.
    """

    def __init__(self, caches: Caches, model: str) -> None:
        digest = blake2b(model.encode(), digest_size=4).digest()
        self._rows = KeptRows(
            caches=caches,
            name=TABLE_FILE,
            table="notes",
            columns="""(
    path TEXT PRIMARY KEY, mtime_ns INTEGER, size INTEGER, inode INTEGER, digest BLOB, vector BLOB
)""",
            max_bytes=1 << 30,
            version=int.from_bytes(digest, "big", signed=True),
        )
        self._lock = threading.Lock()
        self._is_loaded = False
        self._unsaved: set[str] = set()
        self._cards: dict[str, Card] = {}
        self._places: dict[str, int] = {}
        self._free: list[int] = []
        self._matrix: NDArray[np.float16] = np.zeros((0, 0), np.float16)

    def stale(self, stamps: Iterable[FileStamp]) -> list[FileStamp]:
        """The notes without a vector, and those that may have changed since they got one."""
        with self._lock:
            self._load()
            return [stamp for stamp in stamps if not self._has(stamp)]

    def digest_of(self, path: str) -> bytes | None:
        """The hash of a note's embedded text; `None` if it has no vector."""
        with self._lock:
            card = self._cards.get(path)
            return None if card is None else card.digest

    def put(self, cards: Sequence[Card], vectors: Matrix) -> None:
        """Store the vectors of notes, shape (len(cards), d)."""
        with self._lock:
            for card, vector in zip(cards, vectors, strict=True):
                self._put(card, vector.astype(np.float16))
            self._save()

    def confirm(self, cards: Iterable[Card]) -> None:
        """Keep the vectors of notes that were rewritten with the same embedded text."""
        with self._lock:
            for card in cards:
                self._cards[card.stamp[0]] = card
                self._unsaved.add(card.stamp[0])
            self._save()

    def keep_only(self, paths: Collection[str]) -> None:
        """Forget all other notes."""
        with self._lock:
            self._load()
            for path in [path for path in self._cards if path not in paths]:
                del self._cards[path]
                place = self._places.pop(path)
                self._matrix[place] = 0
                self._free.append(place)
                self._unsaved.add(path)
            self._save()

    def cosines(self, queries: Matrix) -> tuple[list[str], Matrix]:
        """The n notes with vectors, and their cosines with k queries, shape (k, n)."""
        with self._lock:
            self._load()
            paths = list(self._places)
            found = np.zeros((len(queries), len(self._matrix)), np.float32)
            if found.size and queries.shape[1] == self._matrix.shape[1]:
                for start in range(0, len(self._matrix), _BLOCK_ROWS):
                    block = self._matrix[start : start + _BLOCK_ROWS].astype(np.float32)
                    found[:, start : start + _BLOCK_ROWS] = queries @ block.T
            return paths, found[:, list(self._places.values())]

    def _has(self, stamp: FileStamp) -> bool:
        """True if a note has a current vector; a stamp without a time proves nothing."""
        card = self._cards.get(stamp[0])
        return card is not None and card.stamp == stamp and stamp[1] != 0

    def _put(self, card: Card, vector: NDArray[np.float16]) -> None:
        path = card.stamp[0]
        if self._matrix.shape[1] != len(vector):
            self._cards, self._places, self._free = {}, {}, []
            self._matrix = np.zeros((_FIRST_ROWS, len(vector)), np.float16)
        if path not in self._places:
            if len(self._places) >= MOST_NOTES:
                return
            self._places[path] = self._free.pop() if self._free else len(self._places)
        place = self._places[path]
        if place >= len(self._matrix):
            more = np.zeros((len(self._matrix) // 2 + 1, len(vector)), np.float16)
            self._matrix = np.concatenate([self._matrix, more])
        self._matrix[place] = vector
        self._cards[path] = card
        self._unsaved.add(path)

    def _load(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        rows = self._rows.read("SELECT * FROM notes LIMIT ?", (MOST_NOTES,))
        try:
            for path, mtime_ns, size, inode, digest, vector in rows:
                card = Card((path, mtime_ns, size, inode), digest)
                self._put(card, np.frombuffer(vector, np.float16))
        except (ValueError, TypeError) as error:
            self._rows.drop(error)
        self._unsaved.clear()

    def _save(self) -> None:
        gone = ((path,) for path in self._unsaved if path not in self._cards)
        kept = (self._row(path) for path in self._unsaved if path in self._cards)
        if self._unsaved and self._rows.write(
            ("DELETE FROM notes WHERE path = ?", gone),
            ("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?, ?, ?)", kept),
        ):
            self._unsaved.clear()

    def _row(self, path: str) -> tuple[object, ...]:
        card = self._cards[path]
        return *card.stamp, card.digest, self._matrix[self._places[path]].tobytes()


CARD_CHARACTERS: Final = 400
_HEADING_CHARACTERS = 160
_BATCH = 16
_MARKS = re.compile(r"[#*|>`\[\]]+")

ReadNote = Callable[[str], tuple[str, Outline] | None]
"""Gives the text of a note and its outline; `None` if it is missing or not text."""


class NoteVectors:
    """Vectors of notes by one embedder, for one event loop.

    A note is embedded as its card: its name and folders, aliases and tags, headings and opening.
    A change below the opening costs nothing.

    Args:
        read: Reads notes; called in threads.
    """

    def __init__(self, caches: Caches, embedder: Embedder, read: ReadNote) -> None:
        self._embedder = embedder
        self._read = read
        self._table = NoteTable(caches, embedder.name)
        self._lock = asyncio.Lock()

    async def embed(
        self, stamps: Sequence[FileStamp], *, within_s: float | None = None, rest: float = 0.0
    ) -> bool:
        """Embed the notes that are new or changed, in their order.

        Args:
            within_s: No batch begins after this time; the first one is always embedded.
            rest: The pause after each batch, as a share of the time it took.

        Returns:
            True if all were embedded.

        Raises:
            ModelFailed: If the embedder fails; finished batches are kept.
        """
        began = time.monotonic()
        stale = await in_daemon_thread(lambda: self._table.stale(stamps), name="vectors")
        for start in range(0, len(stale), _BATCH):
            if start and within_s is not None and time.monotonic() - began > within_s:
                return False
            began_batch = time.monotonic()
            async with self._lock:
                await self._embed(stale[start : start + _BATCH])
            if rest:
                await asyncio.sleep(rest * (time.monotonic() - began_batch))
        return True

    async def cosines(self, queries: Sequence[str]) -> tuple[list[str], Matrix]:
        """The n notes with vectors, and their cosines with k texts, shape (k, n).

        Raises:
            ModelFailed: If the embedder fails.
        """
        vectors = unit(await self._embedder.embed(queries))
        return await in_daemon_thread(lambda: self._table.cosines(vectors), name="vectors")

    async def keep_only(self, paths: Collection[str]) -> None:
        """Forget all other notes."""
        await in_daemon_thread(lambda: self._table.keep_only(paths), name="vectors")

    async def _embed(self, stamps: Sequence[FileStamp]) -> None:
        cards = await in_daemon_thread(lambda: self._cards(stamps), name="vectors")
        if cards:
            vectors = unit(await self._embedder.embed([text for _, text in cards]))
            kept = [card for card, _ in cards]
            await in_daemon_thread(lambda: self._table.put(kept, vectors), name="vectors")

    def _cards(self, stamps: Iterable[FileStamp]) -> list[tuple[Card, str]]:
        """The cards to embed; those that are unchanged are only confirmed."""
        changed: list[tuple[Card, str]] = []
        same: list[Card] = []
        for stamp in stamps:
            read = self._read(stamp[0])
            text = card_of(stamp[0], *read) if read is not None else ""
            card = Card(stamp, blake2b(text.encode("utf-8", "replace"), digest_size=16).digest())
            if self._table.digest_of(stamp[0]) == card.digest:
                same.append(card)
            else:
                changed.append((card, text))
        if same:
            self._table.confirm(same)
        return changed


def card_of(path: str, text: str, outline: Outline) -> str:
    """The text to embed for a note, at most 400 characters, one line for each part."""
    name = path.rpartition(".")[0] or path
    headings = "; ".join(heading.text for heading in outline.headings)[:_HEADING_CHARACTERS]
    start = outline.body
    for heading in outline.headings[:1]:  # the opening is what follows the title
        if not text[start : heading.start].strip():
            start = heading.start + text[heading.start :].find("\n") + 1 or len(text)
    opening = " ".join(_MARKS.sub(" ", text[start : start + 2 * CARD_CHARACTERS]).split())
    lines = (
        name.replace("/", ", "),
        ", ".join((*outline.aliases, *outline.tags)),
        headings,
        opening,
    )
    return "\n".join(line for line in lines if line)[:CARD_CHARACTERS]
