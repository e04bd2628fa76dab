"""Finds notes by meaning: each note's card is embedded once and compared with a query."""

import asyncio
import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Final

from smart_context.base.caches import Caches
from smart_context.base.threads import in_daemon_thread
from smart_context.llm.models import Embedder, Matrix
from smart_context.relevance.notes.table import Card, NoteTable
from smart_context.relevance.vectors.cosines import unit
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.markdown.notes import Outline

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
    """The text to embed for a note, at most 400 characters, one line for each part.

    Args:
        path: The note, relative to the vault.
    """
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
