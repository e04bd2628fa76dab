"""Parts of a text as ranges of its characters: sections, blocks, and what exclusions leave.

All of it is computed from an outline, so the length of what would be included is known without
reading the file.
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
class Kept:
    """What of a text stays when exclusions are taken out.

    Attributes:
        whole: The text, or the section of it, that was asked for.
        ranges: What of it stays, in order.
        exclusions: How many sections each pattern took out.
    """

    whole: Range
    ranges: tuple[Range, ...]
    exclusions: Mapping[str, int]

    @property
    def length(self) -> int:
        """In characters."""
        return sum(end - start for start, end in self.ranges)

    def holds(self, start: int, end: int) -> bool:
        """Whether all characters from `start` to `end` stay."""
        place = bisect_right(self.ranges, start, key=itemgetter(0)) - 1
        return place >= 0 and end <= self.ranges[place][1]

    def of(self, text: str) -> str:
        """What stays of the text."""
        if len(self.ranges) == 1 and self.ranges[0] == (0, len(text)):
            return text
        return "".join(text[start:end] for start, end in self.ranges)

    def reach(self, length: int) -> int:
        """Where the text ends when only the first `length` characters that stay are taken."""
        for start, end in self.ranges:
            if length <= end - start:
                return start + length
            length -= end - start
        return self.whole[1]


def section_of(outline: Outline, fragment: str) -> Range | None:
    """The place of `Heading`, `Heading#Sub heading` or `^block`; `None` when it isn't there.

    Headings are compared as Obsidian compares them: without punctuation, formatting and case. The
    first one that fits is meant; a section goes on to the next heading of its level or above.
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
    """A heading as it is compared: words without punctuation and formatting, in lower case."""
    return fold(_PUNCTUATION.sub(" ", text).strip())


def kept_of(
    outline: Outline, whole: Range, patterns: Sequence[tuple[str, Callable[[str], bool]]]
) -> Kept:
    """What stays of `whole` when the sections whose heading fits a pattern are taken out.

    Args:
        outline: Of the text.
        whole: The text, or a part of it.
        patterns: Each with its test, which gets the whole heading, folded as names are.
    """
    if not patterns:
        return Kept(whole, (whole,), _NONE)
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
    return Kept(whole, tuple((start, end) for start, end in ranges if start < end), counts)


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
