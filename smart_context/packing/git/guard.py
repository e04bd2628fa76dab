"""What git is told so that nothing runs but git itself.

A repository is data, but its configuration can name programs: filters of contents, hooks, a file
system monitor, and what fetches missing objects. Those that have a name of their own are found in
the configuration first, so that each can be switched off.
"""

import os
from collections.abc import Mapping

from smart_context.packing.git.folder import WorkTree

KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "SUDO_UID")
"""Where the user keeps the configuration of git, and who else owns the user's repositories."""


Settings = Mapping[str, str]
"""Values by the keys of git's configuration."""

FIXED_SETTINGS: Settings = {
    "core.fsmonitor": "false",
    "core.hookspath": os.devnull,
    "core.quotepath": "false",
    "core.bigfilethreshold": "16m",  # git takes larger files for binary, and does not load them
    "safe.barerepository": "explicit",
}
"""What holds in every repository."""


def guarded_environment(
    cleaned: Mapping[str, str], tree: WorkTree, settings: Settings
) -> dict[str, str]:
    """The variables with which git runs in a work tree; it looks for a repository only there."""
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
    """The values that count, of all that `git config --list --show-scope -z` names.

    `None` if git does not heed the settings in its environment, as it does from 2.31 on.
    """
    scopes_and_entries = os.fsdecode(listed).split("\0")
    if "command" not in scopes_and_entries[::2]:
        return None
    parts = (entry.partition("\n") for entry in scopes_and_entries[1::2])
    return {key: value for key, _, value in parts}


def safe_settings(listed: Settings) -> Settings:
    """What overrides the programs that a repository's configuration names."""
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
