"""What `.gitignore` and `.scignore` leave out, with git's meaning of their patterns.

One ignore file becomes one regular expression, so a file is looked up once per ignore file above
it, however many patterns there are. No pattern can make the match backtrack without bound.
"""

import re
from dataclasses import dataclass

_CLASS = re.compile(r"\[(?P<negated>[!^])?(?P<members>\]?(?:\\.|[^\]\\])*)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one folder's ignore files.

    Attributes:
        pattern: One group for each rule, the last rule first.
        excluding: For each group, whether its rule leaves out (`True`) or takes back in.
    """

    pattern: re.Pattern[str]
    excluding: tuple[bool, ...]

    def verdict(self, path: str) -> bool | None:
        """Whether the path is left out; `None` when no rule is about it.

        Args:
            path: Relative to the folder of the ignore file, with `/`; a folder ends in `/`.
        """
        match = self.pattern.fullmatch(path)
        if match is None or match.lastindex is None:
            return None
        return self.excluding[match.lastindex - 1]


def parse_ignore(text: str) -> IgnoreRules | None:
    """The rules of an ignore file; `None` when it holds none.

    Lines that are no valid pattern are passed over, as git does.
    """
    rules = [rule for line in text.split("\n") if (rule := _rule(line)) is not None]
    if not rules:
        return None
    rules.reverse()
    return IgnoreRules(
        re.compile("|".join(f"({regex})" for regex, _ in rules), re.DOTALL),
        tuple(excluding for _, excluding in rules),
    )


def _rule(line: str) -> tuple[str, bool] | None:
    line = _without_trailing_spaces(line.removeprefix("\ufeff").removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    excluding = not line.startswith("!")
    glob = line if excluding else line[1:]
    folders_only = glob.endswith("/")
    anchored = "/" in glob[:-1]
    segments = [segment for segment in glob.strip("/").split("/") if segment]
    if not segments:
        return None
    if not anchored:
        segments.insert(0, "**")
    try:
        regex = _path_regex(segments)
        re.compile(regex)
    except (re.error, OverflowError):
        return None
    return regex + ("/" if folders_only else "/?"), excluding


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" \t")
    escaped = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + line[len(stripped) : len(stripped) + 1] if escaped % 2 else stripped


def _path_regex(segments: list[str]) -> str:
    """Each `**` but the last takes the nearest match and holds on to it: that is enough."""
    runs: list[list[str]] = [[]]
    for segment in segments:
        if segment != "**":
            runs[-1].append(_segment_regex(segment))
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
    """One path segment; each `*` but the last holds on to the nearest match, as above."""
    chunks: list[str] = [""]
    position = 0
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
        elif character == "[" and (found := _CLASS.match(glob, position - 1)):
            chunks[-1] += _class_regex(found)
            position = found.end()
        else:
            chunks[-1] += re.escape(character)
    first, *later = chunks
    if not later:
        return first
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in later[:-1]) + f"[^/]*{later[-1]}"


def _class_regex(found: re.Match[str]) -> str:
    members = re.sub(r"\\(.)", r"\1", found["members"])
    safe = re.sub(r"([\\\]\[^&~|])", r"\\\1", members)
    return f"(?!/)[{'^' if found['negated'] else ''}{safe}]"
