"""Puts text on the clipboard, by the command that the platform has for it."""

import os
from collections.abc import Sequence
from pathlib import Path

from smart_context.environment import environment
from smart_context.errors import CommandFailed
from smart_context.processes.programs import NOT_INSTALLED, Stopped, clean_environment, run

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
    """Put a text on the clipboard; gives the name of the command that took it.

    Raises:
        CommandFailed: If there is no such command, or each of them fails.
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
    """Why the command failed; empty when it did not."""
    outcome = run(
        command,
        folder=Path(os.sep),
        environment=clean_environment(environment(), keep=_KEPT),
        stdin=text.encode("utf-16" if command[0] == "clip.exe" else "utf-8"),
        timeout_s=_TIMEOUT_S,
        max_bytes=0,
        may_stay=True,  # some of them serve the clipboard from the background
    )
    if isinstance(outcome, Stopped):
        return outcome.reason
    return f"ended with exit code {outcome.exit_code}" if outcome.exit_code else ""
