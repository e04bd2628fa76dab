"""The ignore rules that are in force in a folder.

As for git, these are the rules of the ignore files in the folder and in those above it, up to the
top of the repository, and those of the repository's `.git/info/exclude`. The user's own
`core.excludesFile` is not used: it lists files that one user's git overlooks, not files that do not
belong to the repository. A link to an ignore file is not followed. If an ignore file can't be read,
its rules are unknown, so everything in its folder is left out.

As for git, patterns ignore case where `core.ignorecase` is set. They also ignore it where the file
system takes `.GITIGNORE` for `.gitignore`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path

from smart_context.base.disk.folders import Folder, NotPlain, opened
from smart_context.base.disk.places import Place
from smart_context.vault.guarded.ignore import IgnoreRules, lines_of, parse_ignore
from smart_context.vault.guarded.repository import content_of, folders_of, work_tree_of

IGNORE_FILES = (".gitignore", ".scignore")
"""The ignore files of a folder; the second is our own and overrides the first."""

RULE_PLACES = frozenset({*IGNORE_FILES, ".git"})
"""The names in a folder that may bring rules."""

_MAX_IGNORE_BYTES = 5 << 20
_MAX_CONFIG_BYTES = 1 << 20
_REMEMBERED = 8
_SETTING = re.compile(rb"^[ \t]*(?:\[(?P<section>[^\]\n]*)\][ \t]*)?(?P<line>.*)$", re.MULTILINE)
_IGNORES_CASE = re.compile(rb"ignorecase\s*(?:=\s*\"?(?:true|yes|on|[1-9]\d*)\b.*)?", re.IGNORECASE)

_WITH_AN_END = re.compile(r"(?<=[^/. ])[. ]+(?=/|$)")
"""The ends of names that Windows drops: so that a vault excludes the same files there."""

OnCut = Callable[[str, int], None]
"""Called with a folder, which ends in `/`, and the number of unused lines in its ignore files.

The number is 0 if an ignore file can't be read, or is too large.
"""

_NO_RULES = (FileNotFoundError, NotPlain)
"""Errors that mean that there is no ignore file; after any other, its rules are unknown."""

_UNREAD = "*\n/*\n"
_ALL_LEFT_OUT = parse_ignore(_UNREAD)

Scopes = tuple[tuple[int, str, IgnoreRules], ...]
"""The rules in force, innermost first, each with a length and a prefix.

To match a path, cut off its first characters by that length: the prefix of the rules' folder. Then
put the prefix before it: the way to the vault from a rules' folder above the vault, else empty.
"""


def is_ignored(path: str, scopes: Scopes) -> bool:
    """True if the rules exclude the path, relative to the vault; a folder ends in `/`."""
    verdicts = (rules.verdict(way + path[length:]) for length, way, rules in scopes)
    is_excluded = next((verdict for verdict in verdicts if verdict is not None), False)
    if is_excluded or not _WITH_AN_END.search(path):
        return is_excluded
    return is_ignored(_WITH_AN_END.sub("", path), scopes)


def with_rules_of(folder: Folder, prefix: str, scopes: Scopes, on_cut: OnCut | None) -> Scopes:
    """The rules in force in a folder, from those of the folder that it is in.

    Args:
        prefix: The folder's path relative to the vault; empty, or with a final slash.
    """
    texts = _texts(folder)
    if _UNREAD in texts and on_cut is not None:
        on_cut(prefix, 0)
    rules = parse_ignore(*texts, any_case=_any_case(folder, texts, scopes))
    return _with(rules, (prefix, len(prefix), ""), scopes, on_cut)


def scopes_above(root: Path, on_cut: OnCut | None) -> Scopes:
    """The rules from the folders above the vault, up to the top of its repository.

    A rule that excludes the vault itself or a folder above it is not used: a user who opens a
    folder wants its contents.
    """
    scopes: Scopes = ()
    above = folders_above(root)
    names = root.resolve().parts[-len(above) :] if above else ()
    for depth, place in enumerate(above):
        try:
            with opened(Place(place)) as folder:
                texts = _texts(folder)
                any_case = _any_case(folder, texts, scopes)
        except OSError:
            continue
        ways = tuple(accumulate(f"{name}/" for name in names[depth:]))
        where = "../" * len(ways), 0, ways[-1]
        rules = _ALL_LEFT_OUT if _UNREAD in texts else _rules_without(texts, ways, any_case)
        scopes = _with(rules, where, scopes, on_cut)
    return scopes


def folders_above(root: Path) -> list[Path]:
    """The folders above the vault up to the top of its repository, the top first."""
    try:
        tree = work_tree_of(root)
    except (OSError, RuntimeError):  # circular links, or a folder that can't be entered
        return []
    names = tree.below.split("/")[:-1] if tree else []
    return [tree.top.joinpath(*names[:depth]) for depth in range(len(names))] if tree else []


def _with(
    rules: IgnoreRules | None, place: tuple[str, int, str], scopes: Scopes, on_cut: OnCut | None
) -> Scopes:
    folder, prefix_length, way = place
    if rules is not None and rules.left_out and on_cut is not None:
        on_cut(folder, rules.left_out)
    return scopes if rules is None else ((prefix_length, way, rules), *scopes)


@lru_cache(_REMEMBERED)
def _rules_without(
    texts: tuple[str, ...], folders: tuple[str, ...], any_case: bool
) -> IgnoreRules | None:
    """The rules of ignore files, without those that exclude one of the folders."""

    def excludes(rules: IgnoreRules | None) -> bool:
        return rules is not None and any(map(rules.verdict, folders))

    read = partial(parse_ignore, any_case=any_case)
    rules = read(*texts)
    if not excludes(rules):
        return rules
    lines = (line for text in texts for line in lines_of(text))
    return read("\n".join(line for line in lines if not excludes(read(line))))


def _texts(folder: Folder) -> tuple[str, ...]:
    """The texts with rules; later ones override earlier ones."""
    texts = _excluded(folder), *(_ignore_text(folder, name) for name in IGNORE_FILES)
    return tuple(text for text in texts if text)


def _any_case(folder: Folder, texts: tuple[str, ...], outer: Scopes) -> bool:
    """True if the rules of a folder match names in either case."""
    if outer and outer[0][2].any_case:
        return True
    return _asks_for_any_case(folder) or (bool(texts) and any(_folds(folder, RULE_PLACES)))


def _folds(folder: Folder, names: Iterable[str]) -> Iterator[bool]:
    """For each name that is found in upper case, too, True if that is the same file."""
    for name in names:
        try:
            yield os.path.samestat(folder.status(name), folder.status(name.upper()))
        except OSError:
            continue


def _asks_for_any_case(folder: Folder) -> bool:
    """True if the folder is the top of a repository whose git ignores case."""
    try:
        folder.status(".git")
        content = content_of(folders_of(folder.path)[1] / "config", _MAX_CONFIG_BYTES)
    except (OSError, RuntimeError, ValueError):  # no repository that git could read
        return False
    section, any_case = b"", False
    for found in _SETTING.finditer(content):
        section = section if found["section"] is None else found["section"].strip().lower()
        if section == b"core" and found["line"].lower().startswith(b"ignorecase"):
            any_case = _IGNORES_CASE.fullmatch(found["line"].strip()) is not None
    return any_case


def _excluded(folder: Folder) -> str:
    """The text of the `info/exclude` of the repository whose top the folder is."""
    try:
        folder.status(".git")
        _, shared = folders_of(folder.path)
    except (OSError, RuntimeError, ValueError):  # no repository that git could read
        return ""
    try:
        return _decoded(content_of(shared / "info" / "exclude", _MAX_IGNORE_BYTES))
    except _NO_RULES:
        return ""
    except OSError:
        return _UNREAD


def _ignore_text(folder: Folder, name: str) -> str:
    try:
        return _decoded(folder.read(name, _MAX_IGNORE_BYTES)[1])
    except _NO_RULES:
        return ""
    except OSError:
        return _UNREAD


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
