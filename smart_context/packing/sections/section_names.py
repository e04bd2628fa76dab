"""The keys, headings and order of a prompt's sections."""

import re
from collections.abc import Mapping, Sequence

REQUIRED = "always_include"
HEADINGS: Mapping[str, str] = {
    REQUIRED: "Required Context",
    "target_file": "Target Files",
    "git_diff": "Git Diff (Staged)",
    "unstaged_diff": "Git Diff (Unstaged)",
    "changed_files": "Changed Files",
    "imports": "Imports",
    "related": "Related Files",
    "files": "Repository Context",
    "tree": "Repository Tree",
}
SECTION_KEYS = tuple(key for key in HEADINGS if key != REQUIRED)
_SPOKEN_KEYS = {
    "target": "target_file",
    "targets": "target_file",
    "target_files": "target_file",
    "diff": "git_diff",
    "git_diff_cached": "git_diff",
    "staged_diff": "git_diff",
    "changed": "changed_files",
    "target_imports": "imports",
    "related_files": "related",
    "include": "files",
    "repository": "files",
    "repository_context": "files",
    "repository_tree": "tree",
}
_NOT_LETTERS = re.compile(r"[^a-z]+")


def section_order(priority_order: Sequence[str]) -> tuple[str, ...]:
    """The section keys, most important first.

    Names in a role are mapped to keys; unknown names are ignored, and sections that the role does
    not name follow in the default order.
    """
    keys = [_key_of(name) for name in priority_order]
    return tuple(dict.fromkeys([*(key for key in keys if key in SECTION_KEYS), *SECTION_KEYS]))


def heading_of(key: str) -> str:
    """The heading of a section that is not in `HEADINGS`."""
    return key.replace("_", " ").replace("-", " ").title()


def _key_of(name: str) -> str:
    plain = _NOT_LETTERS.sub("_", name.lower()).strip("_")
    return _SPOKEN_KEYS.get(plain, plain)
