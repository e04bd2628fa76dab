"""Puts text on the clipboard, by the command that the platform has for it."""

import shutil
import subprocess

from smart_context.errors import CommandFailed

COMMANDS = (
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "--clipboard", "--input"),
    ("pbcopy",),
    ("clip.exe",),
)
"""In the order in which they are tried."""

_TIMEOUT_S = 10.0


def copy(text: str) -> str:
    """Put a text on the clipboard; gives the name of the command that took it.

    Raises:
        CommandFailed: If there is no such command, or each of them fails.
    """
    failures = []
    for name, *options in COMMANDS:
        path = shutil.which(name)
        if path is None:
            continue
        failure = _run([path, *options], text.encode("utf-16" if name == "clip.exe" else "utf-8"))
        if not failure:
            return name
        failures.append(f"{name} {failure}")
    names = ", ".join(name for name, *_ in COMMANDS)
    reason = (
        f"Nothing was copied: {'; '.join(failures)}."
        if failures
        else f"Nothing was copied: none of {names} is installed."
    )
    raise CommandFailed(f"{reason} Install one of them, or write to a file with -o FILE.")


def _run(command: list[str], content: bytes) -> str:
    """Why the command failed; empty when it did not.

    Some of them stay in the background to serve the clipboard: they must not hold our pipes.
    """
    try:
        done = subprocess.run(  # noqa: S603  one of the commands above, no shell
            command,
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {_TIMEOUT_S:g} s"
    except OSError as error:
        return f"could not be started ({error.strerror})"
    return f"ended with exit code {done.returncode}" if done.returncode else ""
