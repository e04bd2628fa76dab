"""Passages of the vault's notes that are closest to a question, by their words.

The words of all notes are kept in memory as an inverted index: about a kilobyte a note. It is made
when the first question comes, and follows the vault's index from then on. The notes that fit best
are then read and cut at their headings, and their pieces are ranked.
"""

import posixpath
import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from smart_context.text.bm25 import Bm25
from smart_context.text.words import content_words, words
from smart_context.vault.guarded.files import FileText, VaultFiles, read_text
from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.notes import Heading, outline_of

_SUFFIXES = (".md", ".txt")
_HEADING = re.compile(r" {0,3}#[^\n]*|[^\n]*\n?[^\n]*")  # or a line and what underlines it
_RUN = re.compile(r"\w+")
_LONGEST_KEPT = 30
_MOST_KEPT = 200_000
_MAX_CHARACTERS = 100_000  # of one note, for its words and its passages
_PASSAGE_CHARACTERS = 1_500
_NOTES_READ = 40
_FEWEST_DEAD = 1_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a note, at most about 1,500 characters.

    Attributes:
        source: Where it stands, such as `notes/a.md#Heading`.
        text: What it says, as it is written, without the heading that its source names.
    """

    source: str
    text: str


class VaultPassages:
    """Finds passages in the notes of a vault. Nothing is read before the first question.

    Safe to use from several threads.

    Args:
        index: Knows which files there are, and when they change.
    """

    def __init__(self, index: VaultIndex) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._words = Bm25()
        self._vocabulary = _Vocabulary()
        self._stamps: list[FileStamp | None] = []
        self._places: dict[str, int] = {}
        self._revision = -1

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
        """The notes that have most of a text's words, and how much of them, from 0 to 1.

        Of those that have as many, the ones that are more about them come first.
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
        """Take in what the index says has changed."""
        self._index.catch_up()
        revision = self._index.revision
        if revision == self._revision:
            return
        found = {
            stamp for stamp in self._index.names.stamps() if stamp[0].lower().endswith(_SUFFIXES)
        }
        known = {stamp for stamp in self._stamps if stamp is not None}
        stays = {stamp for stamp in known & found if stamp[1]}  # without a time, it is read again
        for stamp in known - stays:
            self._stamps[self._places.pop(stamp[0])] = None
        if len(self._stamps) - len(self._places) > max(len(self._places), _FEWEST_DEAD):
            self._words, self._stamps, self._places, stays = Bm25(), [], {}, set()
        with VaultFiles(self._index.root) as files:
            for stamp in sorted(found - stays):
                self._add(stamp, files)
        self._revision = revision

    def _add(self, stamp: FileStamp, files: VaultFiles) -> None:
        found = files.read(stamp[0])
        name = posixpath.splitext(stamp[0])[0]
        text = found.text[:_MAX_CHARACTERS] if isinstance(found, FileText) else ""
        self._words.add(self._vocabulary.words(f"{name}\n{text}") if text else [])
        self._places[stamp[0]] = len(self._stamps)
        self._stamps.append(stamp)


class _Vocabulary:
    """The words of a text in no order, several times faster: most were seen before."""

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

    A heading with nothing below it is no passage.
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
