"""The rules of `.gitignore` and `.scignore`; patterns mean what they mean in git.

Plain names are looked up in a table; patterns with wildcards become a few regular expressions that
can't backtrack without bound. The number of patterns with wildcards is limited, because each path
is matched against all of them. (`pathspec` 1.1.1 takes 36 s to match `*a*a*a*a*a*ab` with a name of
120 letters, and eight seconds to read 100,000 patterns.)

A pattern and a name are the same when they differ only in how their characters are composed: some
systems store all names decomposed.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

from smart_context.vault.guarded.globs import name_regex, path_regex

MAX_GLOBS: Final = 1_000
"""Most patterns with wildcards that are used in one folder; real repositories have up to 200."""

MAX_LINES: Final = 100_000

_MAX_GLOB_CHARACTERS = 32_000  # of all of them
_LONGEST_GLOB = 4_096  # no path is longer
_MAX_CHARACTERS = 1 << 20
_REMEMBERED = 8
_AT_ONCE = 4_000  # characters of one regular expression: other threads run between two
_FOLDER = "\0"  # ends the path of a folder
_WILDCARD = re.compile(r"[*?\[\\]")
_ENDS = re.compile("\r?\n")

_Together = tuple[re.Pattern[str], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one folder's ignore files."""

    # for each rule in order: True if it excludes, False if it includes again
    excluding: tuple[bool, ...]
    named: Mapping[str, int]  # the last rule for a name, or for a path that begins with `/`
    # regular expressions with one group for each rule, and the rules' numbers, last rule first
    of_names: tuple[_Together, ...]
    of_paths: tuple[_Together, ...]
    left_out: int = 0  # the number of lines that are ignored because of the limits
    any_case: bool = False  # letters of ASCII match in either case

    def verdict(self, path: str) -> bool | None:
        """True if the path is excluded; `None` when no rule matches it.

        Args:
            path: Relative to the folder of the ignore file, with `/`; a folder ends in `/`.
        """
        if not path.isascii():
            path = _in_bytes(path)
        if self.any_case:
            path = _lowered(path)
        if path.endswith("/"):
            path = path[:-1] + _FOLDER
        start = path.rfind("/") + 1
        last = max(self.named.get(path[start:], -1), self.named.get(f"/{path}", -1))
        last = _last(self.of_names, path, start, last)
        last = _last(self.of_paths, path, 0, last)
        return None if last < 0 else self.excluding[last]


def _last(globs: tuple[_Together, ...], path: str, start: int, last: int) -> int:
    """The last rule that matches the path from `start` on; `last` if no later one does."""
    for pattern, numbers in globs:
        if numbers[0] < last:
            break
        match = pattern.fullmatch(path, start)
        if match is not None and match.lastindex is not None:
            return max(last, numbers[match.lastindex - 1])
    return last


@dataclass(frozen=True, slots=True)
class _IgnoreRule:
    glob: str  # without the slash that anchors it
    is_excluding: bool
    folders_only: bool
    is_anchored: bool  # it matches paths, not names

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it is looked up by; none when it has wildcards."""
        if len(self._plain) != len(self.glob):
            return ()
        name = "/" * self.is_anchored + self.glob
        return (name + _FOLDER,) if self.folders_only else (name, name + _FOLDER)

    @property
    def regex(self) -> str:
        """Its regular expression; empty when the pattern is invalid."""
        try:
            regex = self._regex
        except ValueError:
            return ""
        return regex + (_FOLDER if self.folders_only else f"{_FOLDER}?")

    @property
    def _regex(self) -> str:
        if not self.is_anchored:
            return name_regex(self.glob)
        # Git compares the part before the first wildcard, and matches the rest as a separate glob:
        # so `a**/b` is `a` and `**/b`.
        plain = self._plain
        return re.escape(plain) + path_regex(self.glob[len(plain) :])

    @property
    def _plain(self) -> str:
        return _WILDCARD.split(self.glob, maxsplit=1)[0]


@lru_cache(_REMEMBERED)
def parse_ignore(*texts: str, any_case: bool = False) -> IgnoreRules | None:
    """The rules of ignore files of one folder; `None` when there are none.

    Invalid patterns are skipped, as git does.

    Args:
        texts: Each as UTF-8 with `surrogateescape`; later ones override earlier ones.
        any_case: Letters of ASCII match in either case, as with git's `core.ignorecase`. The
            result is then never `None`, so that the folders below inherit this.
    """
    lines = [line for text in texts for line in lines_of(text)]
    rules = [rule for line in lines[:MAX_LINES] if (rule := _rule(line)) is not None]
    keys = [rule.keys for rule in rules]
    spelled = _lowered if any_case else str
    named = {spelled(key): number for number, found in enumerate(keys) for key in found}
    globs = [(number, rules[number]) for number, found in enumerate(keys) if not found]
    lengths = accumulate(len(rule.glob) for _, rule in globs[:MAX_GLOBS])
    counting = [
        (number, rule)
        for (number, rule), length in zip(globs, lengths, strict=False)
        if length <= _MAX_GLOB_CHARACTERS and len(rule.glob) <= _LONGEST_GLOB
    ]
    cut_lines = max(0, len(lines) - MAX_LINES)
    cut_lines += sum(text.count("\n", _MAX_CHARACTERS) for text in texts)
    left_out = len(globs) - len(counting) + cut_lines
    flags = re.DOTALL | (re.IGNORECASE | re.ASCII if any_case else re.NOFLAG)
    of_names = tuple(_together(counting, flags, are_anchored=False))
    of_paths = tuple(_together(counting, flags, are_anchored=True))
    if not (named or of_names or of_paths or left_out or any_case):
        return None
    excluding = tuple(rule.is_excluding for rule in rules)
    return IgnoreRules(excluding, named, of_names, of_paths, left_out, any_case)


def lines_of(text: str) -> list[str]:
    """The lines of an ignore file that are used, without their ends."""
    counted = text[:_MAX_CHARACTERS].removeprefix("\ufeff").removesuffix("\r")
    return _ENDS.split(counted)


def _together(
    globs: Sequence[tuple[int, _IgnoreRule]], flags: re.RegexFlag, *, are_anchored: bool
) -> Iterator[_Together]:
    valid = [
        (number, regex)
        for number, rule in reversed(globs)
        if rule.is_anchored is are_anchored and (regex := rule.regex)
    ]
    start = length = 0
    for end, (_, regex) in enumerate(valid, 1):
        length += len(regex)
        if length > _AT_ONCE or end == len(valid):
            numbers, regexes = zip(*valid[start:end], strict=True)
            pattern = re.compile("|".join(f"({regex})" for regex in regexes), flags)
            yield pattern, numbers
            start, length = end, 0


def _rule(line: str) -> _IgnoreRule | None:
    if line.startswith("#"):
        return None
    line = _without_trailing_spaces(line.partition("\0")[0])
    if not line.isascii():
        line = _in_bytes(line)
    is_excluding = not line.startswith("!")
    glob = line if is_excluding else line[1:]
    folders_only = glob.endswith("/")
    glob = glob.removesuffix("/")
    is_anchored = "/" in glob
    glob = glob.removeprefix("/")
    return _IgnoreRule(glob, is_excluding, folders_only, is_anchored) if glob else None


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + line[len(stripped) : len(stripped) + 1] if backslashes % 2 else stripped


def _in_bytes(text: str) -> str:
    """A text, composed (NFC), with one character for each of its bytes, as git sees it."""
    composed = unicodedata.normalize("NFC", text)
    return composed.encode("utf-8", "surrogateescape").decode("latin-1")


def _lowered(text: str) -> str:
    """A text of bytes with its ASCII letters in lower case."""
    return text.encode("latin-1").lower().decode("latin-1")
