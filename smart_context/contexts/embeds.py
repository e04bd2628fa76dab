"""Notes with their embeds replaced by the embedded text, as people read them.

An expanded note is a sequence of runs of characters, each from one file. Its length, links and
headings follow from the outlines of these files, without reading any of them. What a file excludes
stays excluded where it is embedded, though the heading above it is not there.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Final, NamedTuple

from smart_context.contexts.snapshot import VaultTexts
from smart_context.vault.markdown.blocks import NOWHERE, Heading, Range
from smart_context.vault.markdown.links import Resolution
from smart_context.vault.markdown.notes import Block, Link, Outline
from smart_context.vault.markdown.sections import (
    Excluded,
    Patterns,
    excluded_in,
    ranked,
    section_of,
)

MAX_CHARACTERS: Final = 200_000
"""The maximum characters of a note's embeds; an embed that does not fit stays as written."""

MAX_EMBEDS: Final = 500
"""The maximum number of embeds in one note, including nested ones."""

MAX_NESTING: Final = 5
"""The maximum depth of embeds within embeds."""

OutlineOf = Callable[[str], Outline | None]


class Run(NamedTuple):
    """Consecutive characters of one file."""

    path: str  # the file
    start: int  # the first one
    end: int  # the one after the last
    nesting: int = 0  # the number of embeds around it; 0 is the note's own text
    level: int = 0  # the level of the heading above its embed; 0 is none
    excluded: str | None = None  # the pattern that excludes its embed, which may be empty


@dataclass(frozen=True, slots=True)
class _Expanded:
    outline: Outline
    links: Sequence[tuple[Link, Resolution]]


class EmbeddedTexts:
    """Expands the embeds of the vault's texts; satisfies `VaultTexts`. For one snapshot.

    Args:
        texts: The vault's texts.
        patterns: The patterns of headings whose sections are left out.

    `![[note]]` or `![alt](note.md)` embeds a note without its properties, a section or a block.
    Its headings are nested below the heading above it. An embed that leads to no note, contains
    itself, or exceeds the limits stays as written and counts as a link; an expanded one does not.
    """

    def __init__(self, texts: VaultTexts, patterns: Patterns = ()) -> None:
        self._texts = texts
        self._patterns = patterns
        self._known: dict[str, _Expanded] = {}

    def outline(self, path: str) -> Outline | None:
        """The outline of the expanded text."""
        own = self._texts.outline(path)
        return self._expanded(path, own).outline if own is not None and own.embeds else own

    def lengths(self, paths: Sequence[str]) -> list[int | None]:
        """The lengths of the expanded texts."""
        return self._of_expanded(paths, self._texts.lengths(paths), _length)

    def measured(
        self, paths: Sequence[str], name: Hashable, measure: Callable[[Outline], int]
    ) -> list[int | None]:
        """A measure of the outlines of the expanded texts; `name` identifies it for caching."""
        return self._of_expanded(paths, self._texts.measured(paths, name, measure), measure)

    def _of_expanded(
        self, paths: Sequence[str], found: list[int | None], measure: Callable[[Outline], int]
    ) -> list[int | None]:
        """The values found, replaced by those of the expanded text where there are embeds."""
        for place, embeds in enumerate(self._texts.measured(paths, "embeds", _count_of_embeds)):
            if embeds and (outline := self.outline(paths[place])):
                found[place] = measure(outline)
        return found

    def read(self, path: str) -> tuple[str, Outline] | None:
        """The expanded text, and its outline."""
        found = self._texts.read(path)
        if found is None or not found[1].embeds:
            return found
        read: dict[str, tuple[str, Outline] | None] = {path: found}

        def outline_of(embedded: str) -> Outline | None:
            if embedded not in read:
                read[embedded] = self._texts.read(embedded)
            now = read[embedded]
            return None if now is None else now[1]

        files = _Files(outline_of, self._patterns)
        runs = runs_of(path, self._texts, files)
        self._known[path] = expanded = self._relocated(found[1], runs, files)
        texts = {name: "" if now is None else now[0] for name, now in read.items()}
        return "".join(texts[run.path][run.start : run.end] for run in runs), expanded.outline

    def links(self, path: str) -> Sequence[tuple[Link, Resolution]]:
        """The links of the expanded text."""
        own = self._texts.outline(path)
        if own is None or not own.embeds:
            return self._texts.links(path)
        return self._expanded(path, own).links

    def backlinks(self, path: str) -> tuple[str, ...]:
        """The files that link to a file, or embed it."""
        return self._texts.backlinks(path)

    def _expanded(self, path: str, own: Outline) -> _Expanded:
        if path not in self._known:
            files = _Files(self._texts.outline, self._patterns)
            runs = runs_of(path, self._texts, files)
            self._known[path] = self._relocated(own, runs, files)
        return self._known[path]

    def _relocated(self, own: Outline, runs: Sequence[Run], files: "_Files") -> _Expanded:
        """The outline and links of the runs, with their positions in the expanded text."""
        headings: list[Heading] = []
        links: list[tuple[Link, Resolution]] = []
        excluded: list[Excluded] = []
        starts = list(accumulate((run.end - run.start for run in runs), initial=0))
        for run, start in zip(runs, starts, strict=False):
            outline = files.outline(run.path) or Outline(0)
            offset = start - run.start
            headings += (
                heading._replace(
                    level=heading.level + run.level,
                    start=heading.start + offset,
                    within=max(heading.within + offset, 0) if heading.within > NOWHERE else NOWHERE,
                )
                for heading in outline.headings
                if run.start <= heading.start < run.end
            )
            links += (
                (Link(link.start + offset, link.end + offset, link.target), resolved)
                for link, resolved in self._texts.links(run.path)
                if run.start <= link.start and link.end <= run.end
            )
            for first, last, pattern in files.excluded_of(run):
                goes_on = excluded and excluded[-1][1:] == (first + offset, pattern)
                begin = excluded.pop()[0] if goes_on else first + offset
                excluded.append((begin, last + offset, pattern))
        blocks = tuple(_moved(block, runs, starts) for block in own.blocks)
        targets = tuple(link for link, _ in links)
        outline = Outline(starts[-1], targets, tuple(headings), blocks, own.tags, own.aliases)
        return _Expanded(outline._replace(excluded=tuple(excluded)), links)


def _length(outline: Outline) -> int:
    return outline.length


def _count_of_embeds(outline: Outline) -> int:
    return len(outline.embeds)


class _Files:
    """The outlines of the files that one note consists of, and their excluded parts."""

    def __init__(self, outline_of: OutlineOf, patterns: Patterns) -> None:
        self.outline = outline_of
        self._patterns = patterns
        self._excluded: dict[str, Sequence[Excluded]] = {}

    def excluded_of(self, run: Run) -> Iterator[Excluded]:
        """The excluded parts of an embedded run, in order; the note's come from its headings."""
        if run.excluded is not None:
            yield run.start, run.end, run.excluded
        elif run.nesting:
            for start, end, pattern in self._excluded_in(run.path):
                if start < run.end and end > run.start:
                    yield max(start, run.start), min(end, run.end), pattern

    def pattern_at(self, path: str, position: int) -> str | None:
        """The pattern that excludes a position of a file; `None` if it is not excluded."""
        excluded = self._excluded_in(path)
        place = bisect_right(excluded, position, key=itemgetter(0)) - 1
        return excluded[place][2] if place >= 0 and position < excluded[place][1] else None

    def _excluded_in(self, path: str) -> Sequence[Excluded]:
        if path not in self._excluded:
            outline = self.outline(path) if self._patterns else None
            found = () if outline is None else excluded_in(outline, self._patterns)
            self._excluded[path] = list(found)
        return self._excluded[path]


def runs_of(path: str, texts: VaultTexts, files: _Files) -> list[Run]:
    """The runs of a note's expanded text, in order."""
    own = files.outline(path)
    if own is None:
        return []
    return list(_Expansion(texts, files).within(Run(path, 0, own.length), ()))


class _Expansion:
    """Expands the embeds of one note, within the limits."""

    def __init__(self, texts: VaultTexts, files: _Files) -> None:
        self._texts = texts
        self._files = files
        self._outline_of = files.outline
        self._room = MAX_CHARACTERS
        self._embeds_left = MAX_EMBEDS

    def within(self, run: Run, way: tuple[tuple[str, int], ...]) -> Iterator[Run]:
        """The run with its embeds expanded; `way` has the places of the embeds around it."""
        position = run.start
        for link, path in self._embeds_in(run):
            way_here = (*way, (run.path, link.start))
            place = self._place(path, link.target.partition("#")[2])
            if place is None or not self._may_take(path, place, way_here):
                continue
            yield run._replace(start=position, end=link.start - 1)
            position = link.end
            level = run.level + self._level_at(run.path, link.start)
            excluded = run.excluded
            if excluded is None:
                excluded = self._files.pattern_at(run.path, link.start)
            yield from self.within(Run(path, *place, run.nesting + 1, level, excluded), way_here)
        yield run._replace(start=position)

    def _embeds_in(self, run: Run) -> Iterator[tuple[Link, str]]:
        """The embeds of notes in a run; the links may be newer than the outline."""
        outline = self._outline_of(run.path)
        if outline is None or not outline.embeds:
            return
        links = self._texts.links(run.path)
        for number in outline.embeds:
            link, path = outline.links[number], None
            if number < len(links) and links[number][0] == link:
                path = links[number][1].path
            if path and path[-3:].lower() == ".md" and run.start < link.start < link.end <= run.end:
                yield link, path

    def _place(self, path: str, fragment: str) -> Range | None:
        outline = self._outline_of(path)
        if outline is None:
            return None
        return section_of(outline, fragment) if fragment else (outline.body, outline.length)

    def _may_take(self, path: str, place: Range, way: Sequence[tuple[str, int]]) -> bool:
        holds_itself = any(path == file and place[0] <= start < place[1] for file, start in way)
        length = place[1] - place[0]
        is_beyond = len(way) > MAX_NESTING or not self._embeds_left or length > self._room
        if holds_itself or is_beyond:
            return False
        self._embeds_left -= 1
        self._room -= length
        return True

    def _level_at(self, path: str, position: int) -> int:
        outline = self._outline_of(path)
        headings = () if outline is None else ranked(outline.headings)
        return next((h.level for h in reversed(headings) if h.start <= position), 0)


def _moved(block: Block, runs: Sequence[Run], starts: Sequence[int]) -> Block:
    """A block of the note itself, at its place among the runs."""

    def moved(position: int) -> int:
        found = (
            start + max(position - run.start, 0)
            for run, start in zip(runs, starts, strict=False)
            if not run.nesting and position <= run.end
        )
        return next(found, starts[-1])

    return Block(block.name, moved(block.start), moved(block.end))
