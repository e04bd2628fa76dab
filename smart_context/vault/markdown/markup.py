"""Blanks out code, comments, math and escapes, in which nothing is a link."""

import re
from bisect import bisect_left
from collections.abc import Iterator

# Possessive repetitions only: a pattern that backtracks could be made slow by a note.
_SPECIAL = re.compile(r"\\.|``*+|\$\$?|%%|<!--|~~~~*+|\[\[", re.DOTALL)
_WIKI_LINK = re.compile(r"\[\[[^\[\]\n]++\]\]")
_BLANK_LINE = re.compile(r"\n[ \t>]*+\r?\n")
_LINE_START = re.compile(r"[ \t>]*+(?:(?:[-*+]|[0-9]{1,9}+[.)])[ \t]++)*[ \t>]*+")
_MATH_END = re.compile(r"(?<=[^\s\\])\$(?![0-9])")
_BACKTICKS = re.compile(r"``*+")
_NOT_QUOTED = re.compile(r"\n(?![ \t]*+>)")
_FENCE_ENDS = {
    "`": re.compile(r"\n[ \t>]*+(```+)[ \t]*+\r?(?=\n|\Z)"),
    "~": re.compile(r"\n[ \t>]*+(~~~+)[ \t]*+\r?(?=\n|\Z)"),
}
_PIECES_AT_ONCE = 10_000  # a text made of marks has millions
_COMMENTS = {"%%": "%%", "<!--": "-->"}


def prose_of(text: str, start: int = 0) -> str:
    """The text with everything but prose blanked out; positions don't change.

    Args:
        start: Where the body begins; the text before it is unchanged.
    """
    if not _may_hold_more_than_prose(text):
        return text
    whole: list[str] = []
    pieces: list[str] = []
    position = 0
    for begin, end in _Scan(text).ranges(start):
        pieces += (text[position:begin], " " * (end - begin))
        position = end
        if len(pieces) > _PIECES_AT_ONCE:
            whole.append("".join(pieces))
            pieces.clear()
    pieces.append(text[position:])
    return "".join(whole + pieces)


def _may_hold_more_than_prose(text: str) -> bool:
    """True if there may be markup; fast, as it looks for single characters first."""
    return (
        "`" in text
        or "\\" in text
        or "$" in text
        or ("%" in text and "%%" in text)
        or ("<" in text and "<!--" in text)
        or ("~" in text and "~~~" in text)
    )


class _Scan:
    """One pass over a text from left to right, linear in its length for any text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = self._line_begins_at = -1
        self._looked_to = 0
        self._nearest: dict[str, int] = {}
        self._paragraph_end = -1
        self._quote_end = -1
        self._no_math_before = -1
        self._runs: dict[int, list[int]] | None = None

    def ranges(self, start: int) -> Iterator[tuple[int, int]]:
        position = start
        while mark := _SPECIAL.search(self._text, position):
            begin, position = mark.span()
            run = mark[0]
            if run == "[[":
                link = _WIKI_LINK.match(self._text, begin)
                position = link.end() if link else begin + 1
                continue
            end = position if run[0] == "\\" else self._end(run, begin, position)
            if end is not None:
                yield begin, end
                position = end

    def _end(self, run: str, begin: int, after: int) -> int | None:
        if run in _COMMENTS:
            return self._end_of_comment(begin, after, _COMMENTS[run])
        if run == "$$":
            return self._close("$$", after, anywhere=self._starts_line(begin))
        if run == "$":
            return self._end_of_math(after)
        is_fence = run.startswith(("```", "~~~")) and self._starts_line(begin)
        end = self._end_of_fence(run, begin, after) if is_fence else None
        return self._end_of_code(run, after) if end is None and run[0] == "`" else end

    def _starts_line(self, position: int) -> bool:
        """Called from left to right, so nothing is searched twice."""
        newline = self._text.rfind("\n", self._looked_to, position)
        self._looked_to = position
        if newline >= 0 or self._line < 0:
            self._line = newline + 1
            found = _LINE_START.match(self._text, self._line)
            self._line_begins_at = found.end() if found else -1
        return position == self._line_begins_at

    def _paragraph(self, position: int) -> int:
        if position > self._paragraph_end:
            blank = _BLANK_LINE.search(self._text, position)
            self._paragraph_end = blank.start() if blank else len(self._text)
        return self._paragraph_end

    def _quote(self, position: int) -> int:
        if position > self._quote_end:
            outside = _NOT_QUOTED.search(self._text, position)
            self._quote_end = outside.start() if outside else len(self._text)
        return self._quote_end

    def _close(self, closing: str, after: int, *, anywhere: bool) -> int | None:
        limit = len(self._text) if anywhere else self._paragraph(after)
        end = self._next(closing, after) + len(closing)
        return end if end <= limit else None

    def _next(self, mark: str, after: int) -> int:
        """The next mark's position, or the text's end; called from left to right."""
        if self._nearest.get(mark, -1) < after:
            found = self._text.find(mark, after)
            self._nearest[mark] = found if found >= 0 else len(self._text)
        return self._nearest[mark]

    def _end_of_comment(self, begin: int, after: int, closing: str) -> int | None:
        starts_line = self._starts_line(begin)
        end = self._close(closing, after, anywhere=starts_line)
        if end is None and starts_line and (closing == "-->" or self._ends_line(after)):
            return len(self._text)
        return end

    def _ends_line(self, position: int) -> bool:
        newline = self._text.find("\n", position)
        return not self._text[position : newline if newline >= 0 else None].strip()

    def _end_of_math(self, after: int) -> int | None:
        following = self._text[after : after + 1]
        if not following or following.isspace() or after <= self._no_math_before:
            return None
        limit = self._paragraph(after)
        closing = _MATH_END.search(self._text, after, limit)
        if closing is None:
            self._no_math_before = limit
            return None
        return closing.end()

    def _end_of_fence(self, run: str, begin: int, after: int) -> int | None:
        line_end = self._text.find("\n", after)
        if line_end < 0:
            return len(self._text)
        if run[0] == "`" and "`" in self._text[after:line_end]:
            return None
        is_quoted = ">" in self._text[self._line : begin]
        limit = self._quote(line_end) if is_quoted else len(self._text)
        fences = _FENCE_ENDS[run[0]].finditer(self._text, line_end, limit)
        return next((found.end() for found in fences if len(found[1]) >= len(run)), limit)

    def _end_of_code(self, run: str, after: int) -> int | None:
        if self._runs is None:
            self._runs = {}
            for found in _BACKTICKS.finditer(self._text, after):
                self._runs.setdefault(len(found[0]), []).append(found.start())
        starts = self._runs.get(len(run), [])
        index = bisect_left(starts, after)
        if index == len(starts) or starts[index] >= self._paragraph(after):
            return None
        return starts[index] + len(run)
