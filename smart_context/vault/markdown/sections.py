"""Parts of a text as ranges: sections, blocks, and the rest after exclusions.

Works on outlines, so the length of an included part is known without reading the file.
"""

import html
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType

from smart_context.vault.markdown.blocks import NOWHERE, Heading, Range
from smart_context.vault.markdown.links import fold
from smart_context.vault.markdown.notes import MAX_PARTS, Outline

Patterns = Sequence[tuple[str, Callable[[str], bool]]]
"""Each pattern with its test, which gets a whole heading, folded like names."""

Excluded = tuple[int, int, str]
"""The start and end of an excluded range, and the pattern that its heading fits; empty for none."""

_NONE: Mapping[str, int] = MappingProxyType({})
_PUNCTUATION = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")

_SHOWN_AS_WRITTEN = re.compile(r"(?:[A-Za-z0-9,.:;'\"()?!-]++ ?)*+")
_MARKUP = (
    (re.compile(r"!?\[\[(?:[^\[\]|]*+\|)?([^\[\]|]++)\]\]"), r"\1"),
    (re.compile(r"!?\[([^\[\]]*+)\]\([^()]*+\)"), r"\1"),
    (re.compile(r"<[^<>]*+>|%%[^%]*+%%|[ \t]\^[A-Za-z0-9-]++\Z"), ""),
    (re.compile(r"[*~`]++|==++|(?<!\w)_++|_++(?!\w)"), ""),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]++")


@dataclass(frozen=True, slots=True)
class KeptRanges:
    """The ranges of a text that remain after exclusions."""

    whole: Range  # the requested range: the text, or a section of it
    ranges: tuple[Range, ...]  # the parts of it that remain, in order
    exclusions: Mapping[str, int]  # the number of sections that each pattern removed

    @property
    def length(self) -> int:
        """The length of what remains, in characters."""
        return sum(end - start for start, end in self.ranges)

    def holds(self, start: int, end: int) -> bool:
        """True if all characters from `start` to `end` remain."""
        place = bisect_right(self.ranges, start, key=itemgetter(0)) - 1
        return place >= 0 and end <= self.ranges[place][1]

    def of(self, text: str) -> str:
        """The part of the text that remains."""
        return "".join(text[start:end] for start, end in self.ranges)

    def reach(self, length: int) -> int:
        """The position in the text after the first `length` characters that remain."""
        for start, end in self.ranges:
            if length <= end - start:
                return start + length
            length -= end - start
        return self.whole[1]


def section_of(outline: Outline, fragment: str) -> Range | None:
    """The range of `Heading`, `Heading#Sub heading` or `^block`; else `None`.

    Headings are compared as in Obsidian: without punctuation, formatting and case. The first match
    counts. A section ends before the next heading of its level or above.
    """
    if fragment.startswith("^"):
        wanted = fragment[1:].lower()
        return next(
            ((b.start, b.end) for b in outline.blocks if b.name.lower() == wanted),
            None,
        )
    names = [plain for part in fragment.split("#") if (plain := plain_heading(part))]
    return _section(outline, names) if names else None


def plain_heading(text: str) -> str:
    """A heading in the form for comparisons: without punctuation and formatting, in lower case."""
    return fold(_PUNCTUATION.sub(" ", text).strip())


def kept_of(outline: Outline, whole: Range, patterns: Patterns) -> KeptRanges:
    """The rest of `whole` after removing the sections whose heading matches a pattern.

    A part below such a heading is removed even if the heading is outside of `whole`.

    Args:
        patterns: Each test gets a heading as it is written, then as it is shown.
    """
    if not patterns:
        return KeptRanges(whole, (whole,), _NONE)
    counts: Counter[str] = Counter()
    ranges: list[Range] = []
    position, last = whole
    excluded = excluded_in(outline, patterns)
    if outline.excluded:
        excluded = sorted([*excluded, *outline.excluded], key=lambda each: (each[0], -each[1]))
    for start, end, pattern in excluded:
        if start < last and end > position:
            if pattern:
                counts[pattern] += 1
            ranges.append((position, start))
            position = end
    ranges.append((position, last))
    return KeptRanges(whole, tuple((start, end) for start, end in ranges if start < end), counts)


def ranked(headings: Sequence[Heading]) -> Sequence[Heading]:
    """The headings; one in a quote, list, comment or HTML gets a level below the last outside."""
    if all(heading.within == NOWHERE for heading in headings):
        return headings
    found: list[Heading] = []
    above = 0
    for heading in headings:
        if heading.within == NOWHERE:
            above = heading.level
            found.append(heading)
        else:
            found.append(heading._replace(level=heading.level + above))
    return found


def excluded_in(outline: Outline, patterns: Patterns) -> Iterable[Excluded]:
    """The sections whose heading matches a pattern, in order.

    In a note with the most headings that are read, the text after the last one is excluded, too,
    since it may hold more headings.
    """
    section: Heading | None = None
    fitting = ""
    for heading in ranked(outline.headings):
        if section:
            if not heading.ends(section):
                continue
            yield section.start, heading.start, fitting
            section = None
        found = _fitting(heading.text, patterns)
        if found is not None:
            section, fitting = heading, found
    if section:
        yield section.start, outline.length, fitting
    elif len(outline.headings) >= MAX_PARTS:
        yield outline.headings[-1].start, outline.length, ""


def _fitting(heading: str, patterns: Patterns) -> str | None:
    """The first pattern that a heading fits."""
    written = fold(heading)
    found = next((pattern for pattern, fits in patterns if fits(written)), None)
    if found is None and not _SHOWN_AS_WRITTEN.fullmatch(heading):
        shown = fold(shown_heading(heading))
        return next((pattern for pattern, fits in patterns if fits(shown)), None)
    return found


def shown_heading(text: str) -> str:
    """A heading as people read it: without markup, and with one space between words."""
    for markup, shown in _MARKUP:
        text = markup.sub(shown, text)
    text = unicodedata.normalize("NFKC", html.unescape(text))
    return " ".join(_INVISIBLE.sub("", text).split())


def _section(outline: Outline, names: list[str]) -> Range | None:
    """The first section below those names; outside of quotes and the like, if there is one."""
    headings = ranked(outline.headings)
    outside = [heading for heading in headings if heading.within == NOWHERE]
    return _section_among(outside, outline.length, names) or (
        _section_among(headings, outline.length, names) if len(outside) < len(headings) else None
    )


def _section_among(headings: Sequence[Heading], length: int, names: list[str]) -> Range | None:
    depth = 0
    above: list[Heading] = []
    for index, heading in enumerate(headings):
        while above and heading.ends(above[-1]):
            above.pop()
            depth = min(depth, len(above))
        if plain_heading(heading.text) != names[depth]:
            continue
        above.append(heading)
        depth += 1
        if depth == len(names):
            after = headings[index + 1 :]
            return heading.start, next((h.start for h in after if h.ends(heading)), length)
    return None
