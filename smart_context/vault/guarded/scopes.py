"""The ignore rules that are in force in a folder.

As for git, these are the rules of the ignore files in the folder and in those above it, up to the
top of the repository, and those of the repository's `.git/info/exclude`. The user's own
`core.excludesFile` does not count: it says what one user's git overlooks, not what a repository
holds. A link is not followed to an ignore file. What an ignore file excludes that can't be read
is not known, so all in its folder is left out.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from smart_context.base.disk.folders import Folder, NotPlain, opened
from smart_context.base.disk.places import Place
from smart_context.vault.guarded.ignore import IgnoreRules, lines_of, parse_ignore
from smart_context.vault.guarded.repository import content_of, folders_of, work_tree_of

IGNORE_FILES = (".gitignore", ".scignore")
"""In any folder; the second is ours and has the last word."""

RULE_PLACES = frozenset({*IGNORE_FILES, ".git"})
"""The names in a folder that may bring rules."""

_MAX_IGNORE_BYTES = 5 << 20
_REMEMBERED = 8

OnCut = Callable[[str, int], None]
"""Called with a folder, which ends in `/`, and how many lines of its ignore files don't count.

0 if one of them can't be read, or is too large.
"""

_NO_RULES = (FileNotFoundError, NotPlain)
"""What is no ignore file; any other error leaves open what one excludes."""

_UNREAD = "*\n/*\n"
_ALL_LEFT_OUT = parse_ignore(_UNREAD)

Scopes = tuple[tuple[int, str, IgnoreRules], ...]
"""The rules in force, innermost first.

Each with the length of its folder's prefix, which a path loses, and what the path gets instead:
the way from the rules' folder to the vault if that folder is above the vault.
"""


def is_ignored(path: str, scopes: Scopes) -> bool:
    """True if the rules exclude the path, relative to the vault; a folder ends in `/`."""
    for prefix_length, way, rules in scopes:
        verdict = rules.verdict(way + path[prefix_length:])
        if verdict is not None:
            return verdict
    return False


def with_rules_of(folder: Folder, prefix: str, scopes: Scopes, on_cut: OnCut | None) -> Scopes:
    """The rules in force in a folder, from those of the folder that it is in.

    Args:
        prefix: The folder's path relative to the vault; empty, or with a final slash.
    """
    texts = _texts(folder)
    if _UNREAD in texts and on_cut is not None:
        on_cut(prefix, 0)
    return _with(parse_ignore(*texts), (prefix, len(prefix), ""), scopes, on_cut)


def scopes_above(root: Path, on_cut: OnCut | None) -> Scopes:
    """The rules from the folders above the vault, up to the top of its repository.

    A rule that excludes the vault itself or a folder above it does not count: whoever names a
    folder wants what is in it.
    """
    scopes: Scopes = ()
    above = folders_above(root)
    names = root.resolve().parts[-len(above) :] if above else ()
    for depth, place in enumerate(above):
        try:
            with opened(Place(place)) as folder:
                texts = _texts(folder)
        except OSError:
            continue
        ways = tuple(accumulate(f"{name}/" for name in names[depth:]))
        where = "../" * len(ways), 0, ways[-1]
        rules = _ALL_LEFT_OUT if _UNREAD in texts else _rules_without(texts, ways)
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
def _rules_without(texts: tuple[str, ...], folders: tuple[str, ...]) -> IgnoreRules | None:
    """The rules of ignore files but those that exclude one of the folders."""

    def excludes(rules: IgnoreRules | None) -> bool:
        return rules is not None and any(map(rules.verdict, folders))

    rules = parse_ignore(*texts)
    if not excludes(rules):
        return rules
    lines = (line for text in texts for line in lines_of(text))
    return parse_ignore("\n".join(line for line in lines if not excludes(parse_ignore(line))))


def _texts(folder: Folder) -> tuple[str, ...]:
    """The texts that bring rules, the last word last."""
    texts = _excluded(folder), *(_ignore_text(folder, name) for name in IGNORE_FILES)
    return tuple(text for text in texts if text)


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
