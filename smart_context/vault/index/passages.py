"""Finds the passages of the vault's notes that match a question's words best.

An inverted index of all notes' words, about a kilobyte for each note, is built or loaded at the
first question and then follows the vault's index. The best notes are read and cut at their
headings, and the pieces are ranked.
"""

import logging
import posixpath
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from smart_context.base.errors import StoreFailed
from smart_context.base.text.bm25 import Bm25
from smart_context.base.text.words import content_words, words
from smart_context.vault.guarded.files import FileText, VaultFiles, read_text
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.index.kept_words import KeptWords, read_words, write_words
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.blocks import Heading
from smart_context.vault.markdown.notes import outline_of

_logger = logging.getLogger(__name__)

_SUFFIXES = (".md", ".txt")
_HEADING = re.compile(r" {0,3}#[^\n]*|[^\n]*\n?[^\n]*")  # or a line and its underline
_RUN = re.compile(r"\w+")
_LONGEST_KEPT = 30
_MOST_KEPT = 200_000
_MAX_CHARACTERS = 100_000  # read of one note
_PASSAGE_CHARACTERS = 1_500
_NOTES_READ = 40
_FEWEST_DEAD = 1_000
_WORTH_KEEPING = 500  # notes; reading them takes about 0.1 s


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a note, at most about 1,500 characters."""

    source: str  # the note and heading, such as `notes/a.md#Heading`
    text: str  # the text as written, without the heading


class VaultPassages:
    """Finds passages in the notes of a vault. Thread-safe.

    Reads nothing before the first question.

    The word index is kept next to the vault's index if that can be kept.

    Args:
        may_keep: Returns False to forbid writing the word index to disk.
    """

    def __init__(self, index: VaultIndex, *, may_keep: Callable[[], bool] = lambda: True) -> None:
        self._index = index
        self._may_keep = may_keep
        self._lock = threading.Lock()
        self._words = Bm25()
        self._vocabulary = _Vocabulary()
        self._stamps: list[FileStamp | None] = []
        self._places: dict[str, int] = {}
        self._revision = -1
        self._is_loaded = False
        self._unkept = 0

    def find(self, query: str, limit: int) -> list[Passage]:
        """The closest passages, best first; none if the notes and the query share no word."""
        wanted = content_words(query) or words(query)
        if not wanted or limit <= 0:
            return []
        paths = self._best_notes(wanted, _NOTES_READ)
        passages = [passage for path in paths for passage in self._passages_in(path)]
        scores = Bm25(words(f"{p.source} {p.text}") for p in passages).scores(wanted)
        ranked = np.argsort(-scores, kind="stable")[:limit]
        return [passages[place] for place in ranked if scores[place] > 0]

    def notes(self, query: str, limit: int) -> list[tuple[FileStamp, float]]:
        """The notes with most of a text's words, and their shares, from 0 to 1.

        Among notes with the same share, those with the best score come first.
        """
        wanted = content_words(query) or words(query)
        with self._lock:
            self._catch_up()
            shares = self._words.shares(wanted)
            ranked = np.lexsort((-self._words.scores(wanted), -shares))
            best = ((self._stamps[place], float(shares[place])) for place in ranked)
            found = ((stamp, share) for stamp, share in best if stamp is not None and share > 0)
            return list(islice(found, limit))

    def _best_notes(self, wanted: Sequence[str], limit: int) -> list[str]:
        with self._lock:
            self._catch_up()
            scores = self._words.scores(wanted)
            ranked = np.argsort(-scores, kind="stable")
            found: list[str] = []
            for place in ranked:
                if scores[place] <= 0 or len(found) == limit:
                    break
                if stamp := self._stamps[place]:
                    found.append(stamp[0])
        return found

    def _passages_in(self, path: str) -> list[Passage]:
        found = read_text(self._index.root, path)
        return passages_of(path, found.text) if isinstance(found, FileText) else []

    def _catch_up(self) -> None:
        """Update the word index with the notes that changed."""
        if not self._is_loaded:
            self._is_loaded = True
            self._load()
        self._index.catch_up()
        revision = self._index.revision
        if revision == self._revision:
            return
        found = {
            stamp for stamp in self._index.names.stamps() if stamp[0].lower().endswith(_SUFFIXES)
        }
        known = {stamp for stamp in self._stamps if stamp is not None}
        stays = {stamp for stamp in known & found if stamp[1]}  # time 0 means: read it again
        for stamp in known - stays:
            self._stamps[self._places.pop(stamp[0])] = None
        if len(self._stamps) - len(self._places) > max(len(self._places), _FEWEST_DEAD):
            self._words, self._stamps, self._places, stays = Bm25(), [], {}, set()
        new = sorted(found - stays)
        with VaultFiles(self._index.root) as files:
            for stamp in new:
                self._add(stamp, files)
        self._revision = revision
        self._unkept += len(new)
        if self._unkept >= _WORTH_KEEPING:
            self._unkept = 0
            self._keep()

    def _load(self) -> None:
        caches = self._index.caches
        kept = None if caches is None else read_words(caches)
        if kept is not None:
            self._words = Bm25(base=kept.postings)
            self._stamps = [*kept.stamps]
            places = enumerate(kept.stamps)
            self._places = {stamp[0]: place for place, stamp in places if stamp is not None}

    def _keep(self) -> None:
        caches = self._index.caches
        if caches is None or not caches.can_keep() or not self._may_keep():
            return
        kept = KeptWords(stamps=self._stamps, postings=self._words.postings())
        try:
            write_words(caches, kept)
        except StoreFailed as error:
            _logger.debug("the word index is not kept: %s", error)

    def _add(self, stamp: FileStamp, files: VaultFiles) -> None:
        found = files.read(stamp[0])
        name = posixpath.splitext(stamp[0])[0]
        text = found.text[:_MAX_CHARACTERS] if isinstance(found, FileText) else ""
        self._words.add(self._vocabulary.words(f"{name}\n{text}") if text else [])
        self._places[stamp[0]] = len(self._stamps)
        self._stamps.append(stamp)


class _Vocabulary:
    """Splits texts into words, unordered; fast, as it remembers earlier words."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def words(self, text: str) -> list[str]:
        found: list[str] = []
        for run, count in Counter(_RUN.findall(text)).items():
            known = self._known.get(run)
            if known is None:
                known = words(run)
                if len(run) <= _LONGEST_KEPT and len(self._known) < _MOST_KEPT:
                    self._known[run] = known
            found += known * count
        return found


def passages_of(path: str, text: str) -> list[Passage]:
    """A note cut at its headings, and within long sections between paragraphs.

    A heading with no text below it gives no passage.
    """
    text = text.removeprefix("\ufeff")[:_MAX_CHARACTERS]
    outline = outline_of(text)
    headings = outline.headings
    starts = [outline.body, *(_below(heading, text) for heading in headings)]
    ends = [*(heading.start for heading in headings), len(text)]
    sources = [path, *(f"{path}#{heading.text}" for heading in headings)]
    return [
        Passage(source, piece)
        for source, start, end in zip(sources, starts, ends, strict=True)
        for piece in _pieces(text[start:end])
    ]


def _below(heading: Heading, text: str) -> int:
    found = _HEADING.match(text, heading.start)
    return found.end() if found else heading.start


def _pieces(section: str) -> list[str]:
    pieces: list[str] = []
    for paragraph in section.split("\n\n"):
        if pieces and len(pieces[-1]) + len(paragraph) < _PASSAGE_CHARACTERS:
            pieces[-1] += f"\n\n{paragraph}"
        else:
            pieces += (
                paragraph[start : start + _PASSAGE_CHARACTERS]
                for start in range(0, len(paragraph) or 1, _PASSAGE_CHARACTERS)
            )
    return [stripped for piece in pieces if (stripped := piece.strip())]
