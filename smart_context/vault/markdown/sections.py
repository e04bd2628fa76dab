"""Parts of a text as ranges: sections, blocks, and the rest after exclusions.

Works on outlines, so the length of an included part is known without reading the file.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType

from smart_context.vault.markdown.links import fold
from smart_context.vault.markdown.notes import Heading, Outline

Range = tuple[int, int]
"""From a character up to, but not including, another."""

_NONE: Mapping[str, int] = MappingProxyType({})
_PUNCTUATION = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")


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
    """A heading as it is compared: without punctuation and formatting, in lower case."""
    return fold(_PUNCTUATION.sub(" ", text).strip())


def kept_of(
    outline: Outline, whole: Range, patterns: Sequence[tuple[str, Callable[[str], bool]]]
) -> KeptRanges:
    """The rest of `whole` after removing the sections whose heading matches a pattern.

    Args:
        patterns: Each pattern with its test, which gets the whole heading, folded like names.
    """
    if not patterns:
        return KeptRanges(whole, (whole,), _NONE)
    counts: Counter[str] = Counter()
    ranges: list[Range] = []
    position, last = whole
    removed_level = 0
    for heading in outline.headings:
        if not whole[0] <= heading.start < last or heading.level > removed_level > 0:
            continue
        if removed_level:
            position, removed_level = heading.start, 0
        title = fold(heading.text)
        pattern = next((pattern for pattern, fits in patterns if fits(title)), None)
        if pattern is not None:
            counts[pattern] += 1
            ranges.append((position, heading.start))
            removed_level = heading.level
    ranges.append((last if removed_level else position, last))
    return KeptRanges(whole, tuple((start, end) for start, end in ranges if start < end), counts)


def _section(outline: Outline, names: list[str]) -> Range | None:
    depth = 0
    above: list[Heading] = []
    for index, heading in enumerate(outline.headings):
        while above and above[-1].level >= heading.level:
            above.pop()
            depth = min(depth, len(above))
        if plain_heading(heading.text) != names[depth]:
            continue
        above.append(heading)
        depth += 1
        if depth == len(names):
            return heading.start, _end_of(outline, index)
    return None


def _end_of(outline: Outline, index: int) -> int:
    level = outline.headings[index].level
    for heading in outline.headings[index + 1 :]:
        if heading.level <= level:
            return heading.start
    return outline.length
