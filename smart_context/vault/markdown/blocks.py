"""The blocks of a Markdown text: its headings, parts that are not prose, and ends of paragraphs.

Blocks come before inline markup, as in CommonMark: a heading, list item, fence, quote, table or
rule ends a paragraph, whatever is open in it. Comments (`%%`) and displayed formulas (`$$`) are
blocks as in Obsidian.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import MutableSequence
from typing import Final, NamedTuple

Range = tuple[int, int]
"""The position of the first character, and the position after the last."""

NOWHERE: Final = -1


class Heading(NamedTuple):
    """A heading: its level from 1 to 6, the start of its line, and its text."""

    level: int
    start: int
    text: str
    within: int = NOWHERE  # the start of the quote, list, comment or HTML around it

    def ends(self, section: "Heading") -> bool:
        """True if it ends the section of an earlier heading.

        A heading in a quote, a list, a comment or HTML ends no section that began outside of it.
        """
        return self.level <= section.level and self.within in (NOWHERE, section.within)


class Blocks(NamedTuple):
    """The headings, hidden ranges and bounds of a text, in order."""

    headings: list[Heading]
    hidden: list[Range]  # fences, indented code, comments and formulas of several lines
    bounds: MutableSequence[int]  # positions that inline markup can't reach across


_NONE, _PARAGRAPH, _TABLE, _CODE, _FENCE, _HTML = range(6)
_CODE_INDENT = 4  # a line with this much white space before it can only open code
_MOST_OPEN = 1_000  # a hostile line may open millions of quotes and lists
_QUOTE = 0  # in the stack of open blocks, where a list item has its width

_HTML_NAMES = """
    address article aside base basefont blockquote body caption center col colgroup dd details
    dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6
    head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option p
    param search section summary table tbody td tfoot th thead title tr track ul
"""

# Possessive repetitions only, so that each pattern is linear in any text.
_ATTRIBUTE = (
    r"[ \t]++[A-Za-z_:][A-Za-z0-9_.:-]*+"
    r"(?:[ \t]*+=[ \t]*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++))?+"
)
_ANY_TAG = re.compile(
    rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+[ \t]*+/?|/[A-Za-z][A-Za-z0-9-]*+[ \t]*+)>\s*+\Z"
)
_COMMENT_ENDS = re.compile("-->")
_HTML_BLOCKS: Final = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|\Z)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile("<!--"), _COMMENT_ENDS),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{'|'.join(_HTML_NAMES.split())})(?=\s|/?>|\Z)", re.IGNORECASE), None),
)
"""The beginning of each kind of HTML block, and its end; `None`: it ends before a blank line."""

_SPECIAL_LINE = (
    r"(?=[ \t#>`~<$%=*+_|:0-9-])"
    r"(?: {4}| {0,3}\t| {0,3}(?:(#{1,6})(?=[ \t\n]|\Z)|[>|:<]|```|~~~|\$\$|%%|=++[ \t]*+(?=\n|\Z)"
    r"|[-+*_](?=[-*_ \t\n|:]|\Z)|[0-9]{1,9}+[.)](?=[ \t\n]|\Z)))"
)
_FIRST_SPECIAL = re.compile(_SPECIAL_LINE)
_NEXT_SPECIAL = re.compile(rf"\n{_SPECIAL_LINE}")
_SPACES = re.compile(r"[ \t]*+")
_EMPTY_LINE = re.compile(r"[ \t]*+\n")
_ATX = re.compile(r"(#{1,6})(?=[ \t]|\Z)")
_FENCE_OPENS = re.compile(r"```++(?=[^`]*+\Z)|~~~++")
_FENCE_CLOSES = re.compile(r"(```++|~~~++)[ \t]*+\Z")
_UNDERLINE = re.compile(r"(?:=++|-++)[ \t]*+\Z")
_RULE = re.compile(r"(?:-[ \t]*+){3,}+\Z|(?:\*[ \t]*+){3,}+\Z|(?:_[ \t]*+){3,}+\Z")
_ITEM = re.compile(r"(?:[-+*]|([0-9]{1,9}+)[.)])(?=[ \t]|\Z)")
_DELIMITERS = re.compile(
    r"(?!-(?:[ \t]|\Z))\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+[ \t]*+\Z"
)
_ENDS_FORMULA = re.compile(r"\$\$|\n[ \t>]*+(?:#{1,6}(?=[ \t\n])|```|~~~)")
_TITLE = r"(?:\"[^\"\n]*+\"|'[^'\n]*+'|\([^()\n]*+\))"
_DEFINITIONS = re.compile(
    r"(?:[ \t>]*+\[(?:[^\[\]\\\n]|\\[^\n])++\]:[ \t]*+(?:\n[ \t>]*+)?+(?:<[^<>\n]*+>|[^\s<]\S*+)"
    rf"(?:(?:[ \t]++|[ \t]*+\n[ \t>]*+){_TITLE})?[ \t]*+\n)++"
)


def blocks_of(text: str, start: int, most: int) -> Blocks:
    """The blocks of a text from the beginning of a line.

    Args:
        text: Each of its lines ends in a line feed.
        start: The position where its first block may begin.
        most: The most headings that are returned.
    """
    return _BlockReader(text, start, len(text), most).read()


class _BlockReader:
    """One pass over a text from line to line, linear in its length for any text.

    Where no quote and no list is open it jumps over lines that can only belong to a paragraph.
    """

    def __init__(self, text: str, start: int, end: int, most: int) -> None:
        self._blocks = Blocks([], [], array("q"))  # a table of millions of cells has as many
        self._text = text
        self._end = end
        self._most = most
        self._line = self._line_end = start
        self._floor = start  # an open paragraph began here or later
        self._stack: list[int] = []  # the open quotes and list items, outermost first
        self._quotes: list[int] = []  # the places of the quotes among them
        self._outside = NOWHERE  # the start of the outermost
        self._has_empty_item = False
        self._leaf = _NONE
        self._leaf_start = start
        self._fence = ""
        self._html_ends: re.Pattern[str] | None = None
        self._previous: Range = (start, start)  # the last line of the open paragraph

    def read(self) -> Blocks:
        position = self._line
        while (position := self._jump(position)) < self._end:
            self._begin(position)
            self._read_line()
            if not self._stack:
                self._outside = NOWHERE
            position = self._line_end + 1
            if self._leaf != _PARAGRAPH:
                self._floor = position
        self._line = self._end
        self._leave(0)
        return self._blocks

    def _begin(self, position: int) -> None:
        found = self._text.find("\n", position, self._end)
        self._line, self._line_end = position, found if found >= 0 else self._end

    def _jump(self, position: int) -> int:
        """The next line that may be more than a part of a paragraph."""
        while not self._stack and self._leaf <= _PARAGRAPH and position < self._end:
            found = _FIRST_SPECIAL.match(self._text, position, self._end)
            start = position
            if found is None:
                found = _NEXT_SPECIAL.search(self._text, position, self._end)
                if found is None:
                    return self._end
                start = found.start() + 1
            if found[1] is None:
                self._find_paragraph(start)
                return start
            self._begin(start)
            self._leaf = _NONE
            self._add_heading(found.end(1), len(found[1]))
            position = self._floor = self._line_end + 1
        return position

    def _find_paragraph(self, line: int) -> None:
        """Find out if a paragraph is open before a line, outside of lists and quotes."""
        self._leaf = _NONE
        if line > self._floor:
            previous = self._line_before(line)
            if not _EMPTY_LINE.match(self._text, previous):
                self._leaf, self._previous = _PARAGRAPH, (previous, line - 1)

    def _line_before(self, line: int) -> int:
        return max(self._text.rfind("\n", self._floor, line - 1) + 1, self._floor)

    def _read_line(self) -> None:
        indent, at, column = self._blanks(self._line, 0)
        matched = 0
        for width in self._stack:
            if at >= self._line_end:
                matched = self._matched_by_blank(matched)
                break
            if width != _QUOTE and indent >= width:
                indent -= width
            elif width == _QUOTE and indent < _CODE_INDENT and self._text[at] == ">":
                indent, at, column = self._after_quote_mark(at, column)
            else:
                break
            matched += 1
        self._has_empty_item = False
        is_inside = matched == len(self._stack)
        if not (is_inside and self._leaf >= _CODE and self._goes_on(indent, at)):
            if self._leaf >= _CODE:
                self._leave(matched)
            self._open_blocks(indent, at, column, matched)

    def _matched_by_blank(self, matched: int) -> int:
        """The number of open blocks that a blank line belongs to: `matched`, and items in them."""
        place = bisect_left(self._quotes, matched)
        if place < len(self._quotes):
            return self._quotes[place]
        return len(self._stack) - self._has_empty_item

    def _blanks(self, position: int, column: int) -> tuple[int, int, int]:
        """The width of the white space at a position, and the position and column of its end."""
        found = _SPACES.match(self._text, position, self._line_end)
        at = found.end() if found else position
        width = at - position
        if width and "\t" in (blanks := self._text[position:at]):
            before = column % 4
            width = len((" " * before + blanks).expandtabs(4)) - before
        return width, at, column + width

    def _after_quote_mark(self, at: int, column: int) -> tuple[int, int, int]:
        indent, at, column = self._blanks(at + 1, column + 1)
        return max(indent - 1, 0), at, column

    def _goes_on(self, indent: int, at: int) -> bool:
        """True if a line belongs to the open code or HTML; closes it at its last line."""
        text, end = self._text, self._line_end
        if self._leaf == _CODE:
            return indent >= _CODE_INDENT or at >= end
        if self._leaf == _FENCE:
            closing = _FENCE_CLOSES.match(text, at, end) if indent < _CODE_INDENT else None
            if closing and closing[1].startswith(self._fence):
                self._close_leaf(end)
            return True
        if indent < _CODE_INDENT and (heading := _ATX.match(text, at, end)):
            self._add_heading(heading.end(), len(heading[1]))
        if self._html_ends is None:
            return at < end
        if closing := self._html_ends.search(text, at, end):
            self._close_leaf(closing.end())
        return True

    def _open_blocks(self, indent: int, at: int, column: int, matched: int) -> None:
        """Open the quotes and items that begin in a line, then what is in them."""
        interrupts = self._leaf == _PARAGRAPH and matched == len(self._stack)
        while at < self._line_end and (indent < _CODE_INDENT or self._leaf != _PARAGRAPH):
            if indent >= _CODE_INDENT:
                self._open_leaf(_CODE, at, matched)
                return
            if len(self._stack) >= _MOST_OPEN:
                break
            if self._text[at] == ">":
                self._leave(matched)
                self._enter(_QUOTE)
                indent, at, column = self._after_quote_mark(at, column)
            elif self._is_leaf(at, matched, interrupts):
                return
            elif (item := self._item(at)) and (
                not interrupts or self._leaf == _NONE or self._may_interrupt(item)
            ):
                self._leave(matched)
                length = item.end() - at
                blanks, at, column = self._blanks(item.end(), column + length)
                self._has_empty_item = at >= self._line_end
                gap = 1 if self._has_empty_item or blanks > _CODE_INDENT else blanks
                self._enter(indent + length + gap)
                indent = blanks - gap
            else:
                break
            matched, interrupts = len(self._stack), False
        self._read_text(at, matched)

    def _item(self, at: int) -> re.Match[str] | None:
        return _ITEM.match(self._text, at, self._line_end)

    def _may_interrupt(self, item: re.Match[str]) -> bool:
        """True if a list may begin here without a blank line after the paragraph before."""
        _, at, _ = self._blanks(item.end(), 0)
        return at < self._line_end and item[1] in (None, "1")

    def _enter(self, width: int) -> None:
        if self._outside == NOWHERE:
            self._outside = self._line
        if width == _QUOTE:
            self._quotes.append(len(self._stack))
        self._stack.append(width)

    def _leave(self, matched: int) -> None:
        """Close the open blocks after the first `matched`, and the leaf that is open in any."""
        self._close_leaf(self._line)
        del self._stack[matched:]
        while self._quotes and self._quotes[-1] >= matched:
            self._quotes.pop()
        self._blocks.bounds.append(self._line)

    def _close_leaf(self, end: int) -> None:
        is_comment = self._leaf == _HTML and self._html_ends is _COMMENT_ENDS
        if is_comment or self._leaf in {_CODE, _FENCE}:
            self._blocks.hidden.append((self._leaf_start, end))
        if self._leaf == _HTML:
            self._blocks.bounds.append(end)
        self._leaf = _NONE

    def _open_leaf(self, leaf: int, at: int, matched: int) -> None:
        self._leave(matched)
        self._leaf, self._leaf_start = leaf, at

    def _read_text(self, at: int, matched: int) -> None:
        """Read the rest of a line: text, or nothing."""
        is_inside = matched == len(self._stack)
        if at >= self._line_end:
            if self._leaf != _NONE or not is_inside:
                self._leave(matched)
        elif self._leaf == _TABLE and is_inside:
            self._bound_cells(at, self._line_end)
        elif self._leaf != _PARAGRAPH:
            self._open_leaf(_PARAGRAPH, at, matched)
            self._floor = self._line
        self._previous = (at, self._line_end)

    def _is_leaf(self, at: int, matched: int, interrupts: bool) -> bool:
        """Read a block that begins in a line and can't hold others; False if there is none."""
        text, end, mark = self._text, self._line_end, self._text[at]
        if mark == "#" and (heading := _ATX.match(text, at, end)):
            self._leave(matched)
            self._add_heading(heading.end(), len(heading[1]))
        elif mark in "`~" and (fence := _FENCE_OPENS.match(text, at, end)):
            self._open_leaf(_FENCE, at, matched)
            self._fence = fence[0]
        elif mark == "<":
            return self._is_html(at, matched)
        elif mark in "|:-" and interrupts and self._is_table(at):
            self._open_table(at)
        elif mark in "=-" and interrupts and self._is_underlined(at):
            self._leaf = _NONE
        elif mark in "-*_" and _RULE.match(text, at, end):
            self._leave(matched)
        elif mark in "%$" and text[at + 1 : at + 2] == mark:
            return self._is_aside(at, matched)
        else:
            return False
        return True

    def _add_heading(self, at: int, level: int) -> None:
        title = self._text[at : self._line_end].strip()
        if title.endswith("#"):
            opened = title.rstrip("#")
            title = opened.rstrip() if not opened or opened[-1] in " \t" else title
        self._note_heading(level, self._line, title)

    def _note_heading(self, level: int, start: int, title: str) -> None:
        within = self._outside if self._stack else NOWHERE
        if self._leaf == _HTML and not self._stack:
            within = self._leaf_start
        if len(self._blocks.headings) < self._most:
            self._blocks.headings.append(Heading(level, start, title, within))
        self._blocks.bounds.extend((start, self._line_end))

    def _is_underlined(self, mark: int) -> bool:
        """Read the paragraph before an underline as a heading; False if it has no text."""
        if not _UNDERLINE.match(self._text, mark, self._line_end):
            return False
        level = 1 if self._text[mark] == "=" else 2
        at = self._leaf_start if self._stack else self._paragraph_start()
        if definitions := _DEFINITIONS.match(self._text, at, self._line):
            at = definitions.end()
        if at >= self._line:  # after definitions, this line begins a new paragraph
            self._leaf = _NONE
            return False
        start = self._text.rfind("\n", self._floor, at) + 1 or self._floor
        lines = self._text[at : self._line].split("\n")
        title = " ".join(line.lstrip(" \t>").rstrip() for line in lines)
        self._note_heading(level, start, title.strip())
        return True

    def _paragraph_start(self) -> int:
        start = self._previous[0]
        while start > self._floor:
            before = self._line_before(start)
            if _EMPTY_LINE.match(self._text, before):
                break
            start = before
        return start

    def _is_table(self, at: int) -> bool:
        header = self._text[slice(*self._previous)]
        return (
            "|" in header
            and _DELIMITERS.match(self._text, at, self._line_end) is not None
            and _columns(header) == _columns(self._text[at : self._line_end])
        )

    def _open_table(self, at: int) -> None:
        start, end = self._previous
        self._blocks.bounds.append(start)
        self._bound_cells(start, end)
        self._open_leaf(_TABLE, at, len(self._stack))

    def _bound_cells(self, start: int, end: int) -> None:
        self._blocks.bounds.append(start)
        while (start := self._text.find("|", start, end) + 1) > 0:
            if self._text[start - 2] != "\\":
                self._blocks.bounds.append(start - 1)

    def _is_html(self, at: int, matched: int) -> bool:
        text, end = self._text, self._line_end
        for begins, ends in _HTML_BLOCKS:
            if begins.match(text, at, end):
                self._open_leaf(_HTML, at, matched)
                self._html_ends = ends
                if ends and ends.search(text, at, end):
                    self._leaf = _NONE
                return True
        if self._leaf == _PARAGRAPH or not _ANY_TAG.match(text, at, end):
            return False
        self._open_leaf(_HTML, at, matched)
        self._html_ends = None
        return True

    def _is_aside(self, at: int, matched: int) -> bool:
        """Read a comment or a formula of several lines, up to the end of its last line."""
        text, end = self._text, self._line_end
        mark = text[at : at + 2]
        if mark == "$$":
            found = _ENDS_FORMULA.search(text, at + 2, self._end)
            closing = found.start() if found and found[0] == mark else -1
        else:
            closing = text.find(mark, at + 2, self._end)
            if closing < 0 and not text[at + 2 : end].strip():
                closing = self._end
        if closing < end:
            return False
        self._leave(matched)
        if mark == "%%":
            most = self._most - len(self._blocks.headings)
            inside = _BlockReader(text, min(end + 1, closing), closing, most).read()
            self._blocks.headings.extend(h._replace(within=at) for h in inside.headings)
        after = min(closing + 2, self._end)
        self._blocks.hidden.append((at, after))
        self._begin(after)
        return True


def _columns(row: str) -> int:
    row = row.replace("\\|", "").strip(" \t")
    return row.count("|") + 1 - row.startswith("|") - row.endswith("|")
