"""Configures git so that it runs no other program.

A repository's configuration can name programs: filters, hooks, a file system monitor, and helpers
that fetch missing objects. Those with names of their own are looked up first, so that each can be
switched off.
"""

import os
from collections.abc import Mapping

from smart_context.packing.git.folder import WorkTree

KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "SUDO_UID")
"""The user's configuration of git, and the other owner of the user's repositories."""


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
