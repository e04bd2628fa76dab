"""Copies text to the clipboard, with the platform's command."""

import os
from collections.abc import Sequence
from pathlib import Path

from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed
from smart_context.base.processes.programs import NOT_INSTALLED, Stopped, clean_environment, run

COMMANDS = (
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "--clipboard", "--input"),
    ("pbcopy",),
    ("clip.exe",),
)
"""In the order in which they are tried."""

_TIMEOUT_S = 10.0
_KEPT = ("DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "WSL_*", "WSLENV")


def copy(text: str) -> str:
    """Copy a text to the clipboard; returns the name of the command used.

    Raises:
        CommandFailed: If no command is installed, or all fail.
    """
    failures = []
    for command in COMMANDS:
        failure = _failure(command, text)
        if not failure:
            return command[0]
        if failure != NOT_INSTALLED:
            failures.append(f"{command[0]} {failure}")
    names = ", ".join(name for name, *_ in COMMANDS)
    reason = (
        f"Nothing was copied: {'; '.join(failures)}."
        if failures
        else f"Nothing was copied: none of {names} is installed."
    )
    raise CommandFailed(f"{reason} Install one of them, or write to a file with -o FILE.")


def _failure(command: Sequence[str], text: str) -> str:
    """The reason why the command failed; empty if it succeeded."""
    outcome = run(
        command,
        folder=Path(os.sep),
        environment=clean_environment(environment(), keep=_KEPT),
        stdin=text.encode("utf-16" if command[0] == "clip.exe" else "utf-8"),
        timeout_s=_TIMEOUT_S,
        max_bytes=0,
        may_stay=True,  # some keep serving the clipboard in the background
    )
    if isinstance(outcome, Stopped):
        return outcome.reason
    return f"ended with exit code {outcome.exit_code}" if outcome.exit_code else ""
