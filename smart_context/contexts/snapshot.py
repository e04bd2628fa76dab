"""Selects the content of a context by depth, and reports what is left out.

Works on outlines, so that a text that is left out is never read. Reads only through `VaultTexts`.
"""

import posixpath
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Protocol

from smart_context.base.errors import PathRefused
from smart_context.contexts.options import ContextOptions
from smart_context.vault.guarded.paths import status_of
from smart_context.vault.markdown.blocks import Range
from smart_context.vault.markdown.links import Resolution, fold, linkpath
from smart_context.vault.markdown.notes import Link, Outline
from smart_context.vault.markdown.sections import KeptRanges, Patterns, kept_of, section_of
from smart_context.vault.match import build_matcher

FilesBelow = Callable[[str], Iterable[str]]
"""Gives the readable files of a folder, at any depth, sorted; `""` is the vault."""


class Item(NamedTuple):
    """A note or a part of one."""

    key: str  # its path, with `#Heading` or `#^block` if it is a part of a note
    path: str  # the file, relative to the vault
    fragment: str = ""  # `Heading` or `^block`; empty for the whole file
    asked: str = ""  # the name in the list; empty if it came with a folder or a link


_FOLDER, _FILE = stat.S_IFDIR, stat.S_IFREG


@dataclass(frozen=True, slots=True)
class Selected:
    """The items, each once and in the order of the list, and the names that were not found."""

    items: tuple[Item, ...]
    missing: tuple[str, ...]


def select_items(
    root: Path, context_items: Mapping[str, object], files_below: FilesBelow
) -> Selected:
    """Resolve listed names.

    Args:
        context_items: Names of notes, folders, `note#Heading` and `note#^block`, relative to the
            vault; one with a falsy flag is ignored. A note's `.md` may be left out.
        files_below: Lists the files of a folder.

    Returns:
        Folders as their files. A part of a note is left out if the whole note is listed too.
    """
    items: dict[str, Item] = {}
    missing: list[str] = []
    for name in (name for name, flag in context_items.items() if flag):
        found = _find(root, name, files_below)
        if found is None:
            missing.append(name)
        for item in found or ():
            if item.key not in items or (item.asked and not items[item.key].asked):
                items[item.key] = item
    whole = {item.path for item in items.values() if not item.fragment}
    kept = (item for item in items.values() if not item.fragment or item.path not in whole)
    return Selected(tuple(kept), tuple(missing))


def _find(root: Path, name: str, files_below: FilesBelow) -> list[Item] | None:
    for spelling in _spellings(name):
        kind, path = _kind_of(root, spelling)
        if kind == _FOLDER:
            below = "" if path == "." else path
            return [Item(file, file) for file in files_below(below)]
        if kind != _FILE:
            kind, path = _kind_of(root, f"{spelling}.md")
        if kind == _FILE:
            return [Item(path, path, asked=name)]
        if "#" in spelling and (part := _find_part(root, spelling)):
            return [part._replace(asked=name)]
    return None


def _find_part(root: Path, name: str) -> Item | None:
    for position in (place for place, character in enumerate(name) if character == "#"):
        for file in (name[:position], f"{name[:position]}.md"):
            kind, path = _kind_of(root, file)
            if kind == _FILE:
                fragment = name[position + 1 :]
                return Item(f"{path}#{fragment}", path, fragment)
    return None


def _kind_of(root: Path, name: str) -> tuple[int, str]:
    """The file type of a name, 0 if there is none, and its normalised path."""
    request = name.rstrip("/") or "."
    try:
        mode = status_of(root, request).st_mode
    except (PathRefused, OSError, ValueError):
        return 0, request
    kind = stat.S_IFMT(mode)
    return (0 if kind == _FILE and name.endswith("/") else kind), posixpath.normpath(request)


def _spellings(name: str) -> Iterable[str]:
    """The name as given, composed and decomposed, each once."""
    if name.isascii():
        return (name,)
    return dict.fromkeys(
        (name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name))
    )


AmbiguousLink = tuple[str, str, list[str]]
"""The note, the name in its link, and the files that it could mean, the chosen one first."""


class VaultTexts(Protocol):
    """The vault as snapshots read it; `None` for a file that is missing or not text."""

    def outline(self, path: str) -> Outline | None:
        """The outline of a file, as last indexed."""

    def lengths(self, paths: Sequence[str]) -> list[int | None]:
        """The lengths of files in characters, as last indexed."""

    def measured(
        self, paths: Sequence[str], name: Hashable, measure: Callable[[Outline], int]
    ) -> list[int | None]:
        """A measure of the files' outlines, as last indexed; `name` identifies it for caching."""

    def read(self, path: str) -> tuple[str, Outline] | None:
        """The current text of a file, and its outline."""

    def links(self, path: str) -> Sequence[tuple[Link, Resolution]]:
        """The links of a file in order, and their targets."""

    def backlinks(self, path: str) -> tuple[str, ...]:
        """The files that link to a file, in order."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The texts of a context by depth, and what was left out.

    Attributes:
        items: Depth to key to text, in order; empty depths are absent.
        truncated_items: Keys of texts that were cut to fit.
        skipped_items: Keys of texts that did not fit.
        missing_items: Listed names that do not exist or are not text.
        ambiguous_links: Links that could mean several files.
        exclusions: The number of sections that each heading pattern left out.
        lengths: The length of each considered text, before it was cut or skipped.
    """

    items: dict[int, dict[str, str]] = field(default_factory=dict)
    truncated_items: list[str] = field(default_factory=list)
    skipped_items: list[str] = field(default_factory=list)
    missing_items: list[str] = field(default_factory=list)
    ambiguous_links: list[AmbiguousLink] = field(default_factory=list)
    exclusions: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, int] = field(default_factory=dict)

    @property
    def total_char_count(self) -> int:
        """The characters of all texts."""
        return sum(len(text) for texts in self.items.values() for text in texts.values())


def patterns_of(options: ContextOptions) -> Patterns:
    """The patterns of headings whose sections are left out, each once."""
    patterns = dict.fromkeys(filter(None, options.excluded_headings))
    return [(pattern, build_matcher(fold(pattern))) for pattern in patterns]


def take_snapshot(selected: Selected, options: ContextOptions, texts: VaultTexts) -> Snapshot:
    """Collect the selected items and what they link to, within the limit."""
    collector = _Collector(options, texts)
    collector.snapshot.missing_items.extend(selected.missing)
    candidates: Sequence[Item] = selected.items
    for depth in range(options.link_depth + 1):
        stored = collector.store(depth, candidates)
        if depth == options.link_depth or not stored:
            break
        candidates = collector.linked(stored)
    return collector.snapshot


@dataclass(frozen=True, slots=True)
class _KeptPart:
    """An item and its kept parts; `reach` is the end of the stored text in the file."""

    item: Item
    kept: KeptRanges
    reach: int


class _Collector:
    def __init__(self, options: ContextOptions, texts: VaultTexts) -> None:
        self.snapshot = Snapshot()
        self._options = options
        self._texts = texts
        self._used = 0
        self._is_sorted = options.order == "shortest"
        self._seen: set[str] = set()
        self._ambiguous: set[tuple[str, str]] = set()
        self._linked_lengths: dict[str, int | None] = {}
        self._patterns = patterns_of(options)
        self._names_of_patterns = tuple(pattern for pattern, _ in self._patterns)

    def store(self, depth: int, candidates: Sequence[Item]) -> list[_KeptPart]:
        self._seen.update(item.path for item in candidates)
        found = self._fitting(candidates) if self._options.max_len else self._all(candidates)
        if found:
            self.snapshot.items[depth] = {part.item.key: text for part, text in found}
        for part, _text in found:
            if part.kept.exclusions:
                self.snapshot.exclusions.update(part.kept.exclusions)
        return [part for part, _text in found]

    def linked(self, stored: Iterable[_KeptPart]) -> list[Item]:
        cap = self._options.max_links_per_item
        linked: list[str] = []
        for part in stored:
            targets = self._targets(part)
            if cap:
                targets = self._those_of_texts(targets)[:cap]
            fresh = [path for path in targets if path not in self._seen]
            self._seen.update(fresh)
            linked += fresh
        paths = self._those_of_texts(linked)
        return list(map(Item, paths, paths, repeat(""), paths))

    def _all(self, candidates: Sequence[Item]) -> list[tuple[_KeptPart, str]]:
        found = [read for item in candidates if (read := self._read(item))]
        if self._is_sorted:
            found.sort(key=lambda read: len(read[1]))
        return found

    def _fitting(self, candidates: Sequence[Item]) -> list[tuple[_KeptPart, str]]:
        """Texts within the limit; one that is too long by its outline is not read."""
        found: list[tuple[_KeptPart, str]] = []
        skipped = self.snapshot.skipped_items
        measured = self._measured(candidates)
        room = self._options.max_len - self._used
        for place, (length, item) in enumerate(measured):
            if length > room and self._used:
                if self._is_sorted:
                    skipped += [item.key for _, item in measured[place:]]
                    break
                skipped.append(item.key)
            elif read := self._read(item):
                if len(read[1]) > room and self._used:  # has grown since it was indexed
                    skipped.append(item.key)
                    continue
                found.append(self._cut(*read, room))
                self._used += len(found[-1][1])
                room = self._options.max_len - self._used
        return found

    def _cut(self, part: _KeptPart, text: str, room: int) -> tuple[_KeptPart, str]:
        if len(text) <= room:
            return part, text
        self.snapshot.truncated_items.append(part.item.key)
        return replace(part, reach=part.kept.reach(room)), text[:room]

    def _measured(self, candidates: Sequence[Item]) -> list[tuple[int, Item]]:
        lengths = self._lengths(candidates)
        pairs = zip(lengths, candidates, strict=True)
        measured = [(length, item) for length, item in pairs if length is not None]
        self.snapshot.lengths.update((item[0], length) for length, item in measured)
        if None in lengths:
            pairs = zip(lengths, candidates, strict=True)
            unread = (item.asked for length, item in pairs if length is None)
            self.snapshot.missing_items.extend(asked for asked in unread if asked)
        if self._is_sorted:
            measured.sort(key=itemgetter(0))
        return measured

    def _lengths(self, candidates: Sequence[Item]) -> list[int | None]:
        if any(item.fragment for item in candidates):
            outlines = (self._texts.outline(item.path) for item in candidates)
            kept = (
                None if outline is None else self._kept(item, outline)
                for item, outline in zip(candidates, outlines, strict=True)
            )
            return [None if part is None else part.length for part in kept]
        paths = [item.path for item in candidates]
        if self._patterns:
            return self._texts.measured(paths, self._names_of_patterns, self._length_kept)
        if self._linked_lengths:
            return [self._linked_lengths[path] for path in paths]
        return self._texts.lengths(paths)

    def _length_kept(self, outline: Outline) -> int:
        return kept_of(outline, (0, outline.length), self._patterns).length

    def _read(self, item: Item) -> tuple[_KeptPart, str] | None:
        read = self._texts.read(item.path)
        kept = None if read is None else self._kept(item, read[1])
        if read is None or kept is None:
            if item.asked:
                self.snapshot.missing_items.append(item.asked)
            return None
        text = kept.of(read[0])
        self.snapshot.lengths[item.key] = len(text)
        return _KeptPart(item, kept, kept.whole[1]), text

    def _kept(self, item: Item, outline: Outline) -> KeptRanges | None:
        whole: Range | None = (0, outline.length)
        if item.fragment:
            whole = section_of(outline, item.fragment)
        return None if whole is None else kept_of(outline, whole, self._patterns)

    def _targets(self, part: _KeptPart) -> list[str]:
        """The link targets of a stored part, then the notes that link to its note; each once."""
        source = part.item.path
        targets: dict[str, None] = {}
        for link, resolution in self._texts.links(source):
            if resolution.path in (None, source) or not self._is_followed(link, part):
                continue
            if resolution.candidates:
                self._note_ambiguous(source, link, resolution)
            targets[resolution.path] = None
        if self._options.inlinks:
            targets |= dict.fromkeys(self._texts.backlinks(source))
        return list(targets)

    def _those_of_texts(self, paths: list[str]) -> list[str]:
        lengths = self._texts.lengths(paths)
        self._linked_lengths.update(zip(paths, lengths, strict=True))
        if None not in lengths:
            return paths
        return [path for path, length in zip(paths, lengths, strict=True) if length is not None]

    def _is_followed(self, link: Link, part: _KeptPart) -> bool:
        if link.start < part.kept.whole[0] or link.end > part.reach:
            return False
        return self._options.follow_links_in_excluded or part.kept.holds(link.start, link.end)

    def _note_ambiguous(self, source: str, link: Link, resolution: Resolution) -> None:
        name = linkpath(link.target)
        if (source, name) not in self._ambiguous:
            self._ambiguous.add((source, name))
            ambiguous = (source, name, list(resolution.candidates))
            self.snapshot.ambiguous_links.append(ambiguous)
