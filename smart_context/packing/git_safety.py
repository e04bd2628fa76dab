"""Decides which folders git may be asked about, with settings that run no programs."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from smart_context.vault.guarded.repository import WorkTree, folders_of, line_of

_PARTS = ("index", "packed-refs", "refs", "reftable")
"""The parts through which git finds the contents, besides HEAD, for which git checks links."""
_MAX_REFERENCES = 5  # git's own limit: HEAD names a branch, which may name another
_TRUE = {"true", "yes", "on", "1"}


def why_not_its_own(tree: WorkTree, configuration: Mapping[str, str]) -> str:
    """The reason for which the repository may not belong to the work tree; empty if it does."""
    try:
        return _fault(tree, configuration)
    except (OSError, RuntimeError, ValueError):  # circular links, impossible names
        return "parts of its .git can't be found"


def _fault(tree: WorkTree, configuration: Mapping[str, str]) -> str:
    pointer = tree.top / ".git"
    git, common = folders_of(tree.top)
    if common != git:  # one of the work trees that `git worktree add` makes
        knows_it = (git / line_of(git / "gitdir")).resolve() == pointer
        if git.parent != common / "worktrees" or not knows_it:
            return f"{git} belongs to another work tree; if this one was moved: git worktree repair"
    elif configuration.get("core.bare", "").lower() in _TRUE:
        return "it is a bare repository, which has no files"
    elif named_tree := configuration.get("core.worktree"):
        if (git / named_tree).resolve() != tree.top:
            return f"{git} belongs to another work tree, {named_tree}"
    elif not git.is_relative_to(tree.top):
        return f"{git} is not in it; if it is its own: git config core.worktree {tree.top}"
    return _strays(git, common)


def _strays(git: Path, common: Path) -> str:
    for name in (*_PARTS, *_branches(git, common)):
        for part in (git / name, common / name):
            place = part.resolve()
            if not (place.is_relative_to(git) or place.is_relative_to(common)):
                return f"{part} is a link out of it"
    return ""


def _branches(git: Path, common: Path) -> Iterator[str]:
    name = line_of(git / "HEAD", "ref:").strip()
    for _ in range(_MAX_REFERENCES):
        if not name:
            return
        yield name
        name = line_of(common / name, "ref:").strip()


KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "SUDO_UID")
"""The variables for the user's configuration of git, and for the other owner of repositories."""


Settings = Mapping[str, str]
"""Values of git's configuration, by key."""

FIXED_SETTINGS: Settings = {
    "core.fsmonitor": "false",
    "core.hookspath": os.devnull,
    "core.quotepath": "false",
    "core.bigfilethreshold": "16m",  # git treats larger files as binary, without loading them
    "safe.barerepository": "explicit",
}
"""Settings for every repository."""


def guarded_environment(
    cleaned: Mapping[str, str], tree: WorkTree, settings: Settings
) -> dict[str, str]:
    """The environment of git in a work tree; it looks for a repository only there."""
    numbered = {
        name: text
        for number, (key, value) in enumerate(settings.items())
        for name, text in ((f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", value))
    }
    return {
        **cleaned,
        **numbered,
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_WORK_TREE": str(tree.top),
        "GIT_CEILING_DIRECTORIES": str(tree.top.parent),
        "GIT_ALLOW_PROTOCOL": "none",  # also for a git that does not know the next one
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def read_listed(listed: bytes) -> dict[str, str] | None:
    """The values in force, from the output of `git config --list --show-scope -z`.

    `None` if git is older than 2.31 and ignores the settings in its environment.
    """
    scopes_and_entries = os.fsdecode(listed).split("\0")
    if "command" not in scopes_and_entries[::2]:
        return None
    parts = (entry.partition("\n") for entry in scopes_and_entries[1::2])
    return {key: value for key, _, value in parts}


def safe_settings(listed: Settings) -> Settings:
    """Settings that switch off the programs that a repository's configuration names."""
    overrides: dict[str, str] = {}
    for key in listed:
        section, _, rest = key.partition(".")
        name, dot, _ = rest.rpartition(".")
        if dot and section == "filter":
            off = {"clean": "", "smudge": "", "process": "", "required": "false"}
            overrides.update({f"filter.{name}.{option}": value for option, value in off.items()})
        elif dot and section == "hook":
            overrides[f"hook.{name}.enabled"] = "false"
    return {**overrides, **FIXED_SETTINGS}
