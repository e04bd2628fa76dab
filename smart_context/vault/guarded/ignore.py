"""The rules of `.gitignore` and `.scignore`; patterns mean what they mean in git.

Plain names are looked up in a table; patterns with wildcards become a few regular expressions that
can't backtrack without bound. The number of patterns with wildcards is limited, because each path
is matched against all of them. (`pathspec` 1.1.1 takes 36 s to match `*a*a*a*a*a*ab` with a name of
120 letters, and eight seconds to read 100,000 patterns.)
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

MAX_GLOBS: Final = 1_000
"""Most patterns with wildcards of one folder that count; those of real repositories have 200."""

MAX_LINES: Final = 100_000

_MAX_GLOB_CHARACTERS = 32_000  # of all of them
_LONGEST_GLOB = 4_096  # no path is longer
_MAX_CHARACTERS = 1 << 20
_REMEMBERED = 8
_AT_ONCE = 4_000  # characters of one regular expression: other threads run between two
_WILDCARDS = frozenset("*?[\\")
_CLASS = re.compile(r"\[(?P<negated>[!^])?+(?P<members>\]?+(?:\\.|[^\]\\])*)\]", re.DOTALL)
_MEMBER = re.compile(r"\\?+(.)(?:-\\?+(.))?", re.DOTALL)

_Together = tuple[re.Pattern[str], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one folder's ignore files."""

    # for each rule in order: True if it excludes, False if it includes again
    excluding: tuple[bool, ...]
    named: Mapping[str, int]  # the last rule for a name, or for a path that begins with `/`
    # regular expressions with one group for each rule, and the rules' numbers, last rule first
    globs: tuple[_Together, ...]
    left_out: int = 0  # the number of lines that are ignored because of the limits

    def verdict(self, path: str) -> bool | None:
        """True if the path is excluded; `None` when no rule matches it.

        Args:
            path: Relative to the folder of the ignore file, with `/`; a folder ends in `/`.
        """
        name = path[path.rfind("/", 0, -1) + 1 :]
        last = max(self.named.get(name, -1), self.named.get(f"/{path}", -1))
        for pattern, numbers in self.globs:
            if numbers[0] < last:
                break
            match = pattern.fullmatch(path)
            if match is not None and match.lastindex is not None:
                last = max(last, numbers[match.lastindex - 1])
                break
        return None if last < 0 else self.excluding[last]


@dataclass(frozen=True, slots=True)
class _Rule:
    segments: tuple[str, ...]
    is_excluding: bool
    folders_only: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """The key that it is looked up by; empty when it has wildcards."""
        anywhere = self.segments[0] == "**"
        plain = self.segments[anywhere:]
        if (anywhere and len(plain) != 1) or not _WILDCARDS.isdisjoint("".join(plain)):
            return ()
        name = plain[0] if anywhere else "/" + "/".join(plain)
        return (f"{name}/",) if self.folders_only else (name, f"{name}/")

    @property
    def length(self) -> int:
        """The length of its regular expression in characters, roughly."""
        return sum(map(len, self.segments))

    @property
    def regex(self) -> str:
        """Its regular expression; empty when the pattern is invalid."""
        try:
            regex = _path_regex(self.segments)
            re.compile(regex)
        except (re.error, OverflowError):
            return ""
        return regex + ("/" if self.folders_only else "/?")


@lru_cache(_REMEMBERED)
def parse_ignore(text: str) -> IgnoreRules | None:
    """The rules of an ignore file; `None` when it has none.

    Invalid patterns are skipped, as git does.
    """
    lines = text[:_MAX_CHARACTERS].split("\n")
    rules = [rule for line in lines[:MAX_LINES] if (rule := _rule(line)) is not None]
    named = {key: number for number, rule in enumerate(rules) for key in rule.keys}
    globs = [(number, rule) for number, rule in enumerate(rules) if not rule.keys]
    lengths = accumulate(rule.length for _, rule in globs[:MAX_GLOBS])
    counting = [
        (number, rule.regex)
        for (number, rule), length in zip(globs, lengths, strict=False)
        if length <= _MAX_GLOB_CHARACTERS and rule.length <= _LONGEST_GLOB
    ]
    cut_lines = max(0, len(lines) - MAX_LINES) + text.count("\n", _MAX_CHARACTERS)
    left_out = len(globs) - len(counting) + cut_lines
    valid = [(number, regex) for number, regex in reversed(counting) if regex]
    if not named and not valid and not left_out:
        return None
    excluding = tuple(rule.is_excluding for rule in rules)
    return IgnoreRules(excluding, named, tuple(_together(valid)), left_out)


def _together(globs: Sequence[tuple[int, str]]) -> Iterator[_Together]:
    start = length = 0
    for end, (_, regex) in enumerate(globs, 1):
        length += len(regex)
        if length > _AT_ONCE or end == len(globs):
            numbers, regexes = zip(*globs[start:end], strict=True)
            pattern = re.compile("|".join(f"({regex})" for regex in regexes), re.DOTALL)
            yield pattern, numbers
            start, length = end, 0


def _rule(line: str) -> _Rule | None:
    line = _without_trailing_spaces(line.removeprefix("\ufeff").removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    excluding = not line.startswith("!")
    glob = line if excluding else line[1:]
    segments = [segment for segment in glob.strip("/").split("/") if segment]
    if not segments:
        return None
    if "/" not in glob[:-1]:
        segments.insert(0, "**")
    return _Rule(tuple(segments), excluding, folders_only=glob.endswith("/"))


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" \t")
    escaped = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + line[len(stripped) : len(stripped) + 1] if escaped % 2 else stripped


def _path_regex(segments: Sequence[str]) -> str:
    """Each `**` but the last takes the nearest match for good, which is enough."""
    runs: list[list[str]] = [[]]
    for segment in segments:
        if segment != "**":  # a name is not empty: `x/*` is not the folder itself
            runs[-1].append(_segment_regex(segment) if segment.strip("*") else "[^/]+")
        elif len(runs) == 1 or runs[-1]:
            runs.append([])
    if len(runs) > 1 and not runs[-1]:
        runs.pop()
        ending = "/.+?" if runs != [[]] else ".+?"
    else:
        ending = ""
    first, *later = ["/".join(run) for run in runs]
    if not later:
        return first + ending
    start = f"{first}/" if first else ""
    middle = "".join(f"(?>(?:[^/]+/)*?{run}/)" for run in later[:-1])
    return f"{start}{middle}(?:[^/]+/)*{later[-1]}{ending}"


def _segment_regex(glob: str) -> str:
    """One path segment; each `*` but the last keeps the nearest match, as above."""
    chunks: list[str] = [""]
    position = 0
    may_close = True  # once a "[" finds no "]", no later one does
    while position < len(glob):
        character = glob[position]
        position += 1
        if character == "*":
            if len(chunks) == 1 or chunks[-1]:
                chunks.append("")
        elif character == "?":
            chunks[-1] += "[^/]"
        elif character == "\\" and position < len(glob):
            chunks[-1] += re.escape(glob[position])
            position += 1
        elif character == "[" and may_close and (found := _CLASS.match(glob, position - 1)):
            chunks[-1] += _class_regex(found)
            position = found.end()
        else:
            may_close &= character != "["
            chunks[-1] += re.escape(character)
    first, *later = chunks
    if not later:
        return first
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in later[:-1]) + f"[^/]*{later[-1]}"


def _class_regex(found: re.Match[str]) -> str:
    members = _MEMBER.sub(_member_regex, found["members"])
    return f"(?!/)[{'^' if found['negated'] else ''}{members}]"


def _member_regex(found: re.Match[str]) -> str:
    """One character, or a range from one to another, without a meaning of its own."""
    return "-".join(re.escape(character) for character in found.groups() if character)
