"""Full-text search: the notes that hold all words, read one after the other, nothing kept."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from smart_context.vault.guarded.files import FileText, VaultFiles

_TERM = re.compile(r'(-?)(?:"([^"]+)"|(\S+))')
_SUFFIXES = (".md", ".canvas", ".txt")


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for.

    Attributes:
        wanted: Words and phrases that a note has to hold, all of them, in its text or path.
        unwanted: Those that it must not hold.
        is_exact: Whether case counts.
    """

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...] = ()
    is_exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A note that holds what is looked for.

    Attributes:
        path: Of the note, relative to the vault.
        line: The number of the first line that holds most of the words; 0 if only the path does.
        text: That line.
        count: How often the words occur in the text.
        is_named: Whether the note's path holds all of them.
    """

    path: str
    line: int
    text: str
    count: int
    is_named: bool


def query_of(words: str, *, is_exact: bool = False) -> Query:
    """A query from what people type: words, "phrases" and -words that must not be there."""
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, word in _TERM.findall(words):
        (unwanted if minus else wanted).append(_folded(phrase or word, is_exact=is_exact))
    return Query(tuple(dict.fromkeys(wanted)), tuple(unwanted), is_exact)


def may_be_searched(path: str) -> bool:
    """Whether a file is one that search looks into: notes, canvases and plain text."""
    return path.lower().endswith(_SUFFIXES)


def search_notes(root: Path, paths: Iterable[str], query: Query) -> Iterator[Hit]:
    """The files that hold what is looked for, in the order of `paths`; nothing raises.

    Args:
        root: The vault.
        paths: Files to look into, relative to the vault.
        query: What is looked for; nothing holds an empty one.
    """
    with VaultFiles(root) as files:
        for path in paths if query.wanted else ():
            found = files.read(path)
            if isinstance(found, FileText) and (hit := hit_in(path, found.text, query)):
                yield hit


def hit_in(path: str, text: str, query: Query) -> Hit | None:
    """The hit that a note is, if it is one."""
    name, folded = (_folded(part, is_exact=query.is_exact) for part in (path, text))
    if not all(term in folded or term in name for term in query.wanted):
        return None
    if any(term in folded or term in name for term in query.unwanted):
        return None
    number, line = _best_line(text, query)
    return Hit(
        path=path,
        line=number,
        text=line,
        count=sum(folded.count(term) for term in query.wanted),
        is_named=all(term in name for term in query.wanted),
    )


def by_closeness(hit: Hit) -> tuple[bool, int, str]:
    """Sorts hits: those named so first, then those that hold the words most often."""
    return not hit.is_named, -hit.count, hit.path


def _best_line(text: str, query: Query) -> tuple[int, str]:
    best, most = (0, ""), 0
    for number, line in enumerate(text.split("\n"), 1):
        folded = _folded(line, is_exact=query.is_exact)
        held = sum(term in folded for term in query.wanted)
        if held > most:
            best, most = (number, line.strip()), held
        if most == len(query.wanted):
            break
    return best


def _folded(text: str, *, is_exact: bool) -> str:
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return composed if is_exact else composed.casefold()
