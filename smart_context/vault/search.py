"""Full-text search: reads note after note and stores nothing."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from smart_context.base.text.unicode_tables import normalized
from smart_context.vault.guarded.files import FileText, VaultFiles

_TERM = re.compile(r'(-?)(?:"([^"]+)"|(\S+))')
_SUFFIXES = (".md", ".canvas", ".txt")


@dataclass(frozen=True, slots=True)
class Query:
    """The words to search for."""

    wanted: tuple[str, ...]  # words and phrases; all of them must occur in a note's text or path
    unwanted: tuple[str, ...] = ()  # words and phrases that must not occur
    is_exact: bool = False  # True if case counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A note that matches a query."""

    path: str  # the note, relative to the vault
    line: int  # the number of the first line with most of the words; 0 if only the path has them
    text: str  # that line
    count: int  # the occurrences of the words in the text
    is_named: bool  # True if the path contains all words


def query_of(words: str, *, is_exact: bool = False) -> Query:
    """A query from a typed text: words, "phrases", and -words that must not occur."""
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, word in _TERM.findall(words):
        (unwanted if minus else wanted).append(_folded(phrase or word, is_exact=is_exact))
    return Query(tuple(dict.fromkeys(wanted)), tuple(unwanted), is_exact)


def may_be_searched(path: str) -> bool:
    """True for a file that search reads: notes, canvases and plain text."""
    return path.lower().endswith(_SUFFIXES)


def search_notes(
    root: Path,
    paths: Iterable[str],
    query: Query,
    *,
    is_withheld: Callable[[str, str], object] = lambda _path, _text: False,
) -> Iterator[Hit]:
    """The files that match the query, in the order of `paths`; never raises.

    Args:
        paths: The files to search, relative to the vault.
        query: The query; an empty one matches nothing.
        is_withheld: Called with path and text of each match; true leaves it out.
    """
    with VaultFiles(root) as files:
        for path in paths if query.wanted else ():
            found = files.read(path)
            if not isinstance(found, FileText):
                continue
            hit = hit_in(path, found.text, query)
            if hit and not is_withheld(path, found.text):
                yield hit


def hit_in(path: str, text: str, query: Query) -> Hit | None:
    """The hit for a note; `None` if the note does not match."""
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
    """A sort key: hits whose path matches first, then those with the most occurrences."""
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
    composed = normalized("NFC", text)
    return composed if is_exact else composed.casefold()
