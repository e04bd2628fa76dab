"""Formats files as here-document assignments for a prompt."""

import os
import posixpath
import re
import uuid
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

from smart_context.base.text.marks import as_read

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")
_STARTS_WITH_LETTER = re.compile(r"[A-Za-z]")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"})


def _random_id() -> str:
    return str(uuid.uuid4())


def build_context_assign_string(
    read_files: Mapping[str, str],
    cwd: str | Path | None = None,
    new_id: Callable[[], str] = _random_id,
) -> str:
    """Two assignments for each file: its path, and its text between unused tokens.

    Args:
        read_files: Absolute path to text, as the reader fills it.
        cwd: The folder that paths are shown relative to; default: the working directory.
        new_id: Makes the unpredictable part of each token.

    Returns:
        Lines joined by newlines; `""` when nothing was read.
    """
    shown = [_relative(path, cwd) for path in read_files]
    lines: list[str] = []
    for path, name, content in zip(shown, _names(shown), read_files.values(), strict=True):
        token = build_here_doc_token(content, f"context-{new_id()}")
        lines += [f'@{name} assign "{path.translate(_ESCAPES)}"', f"@{name}Content assign"]
        lines += [f"--begin-{token}--", *([content] if content else []), f"--end-{token}--"]
    return "\n".join(lines)


def build_safe_base_name(path: str, prefix: str = "spec_") -> str:
    """An identifier for a file's base name: the prefix, ASCII letters, digits, `_`.

    Folders and the last suffix are dropped (`.name` has no suffix). Runs of other characters
    become `_`; outer ones are dropped. An empty name becomes `file`; a name that starts with
    something other than a letter gets the prefix `F_`.
    """
    stem, _suffix = posixpath.splitext(posixpath.basename(path.rstrip("/")))
    name = _NOT_IN_A_NAME.sub("_", stem).strip("_") or "file"
    return f"{prefix}{name if _STARTS_WITH_LETTER.match(name) else f'F_{name}'}"


def build_here_doc_token(content: str, base: str = "context") -> str:
    """The first of `base`, `base-1`, … whose marks are not in `content`, in any spelling."""
    marks = re.compile(rf"--(?:begin|end)-{re.escape(base)}(?:-([0-9]+))?(?=--)", re.IGNORECASE)
    taken = {*marks.findall(content), *marks.findall(as_read(content))}
    if "" not in taken:
        return base
    free = next(number for number in count(1) if str(number) not in taken)
    return f"{base}-{free}"


def _relative(path: str, folder: str | Path | None) -> str:
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:  # on another drive
        relative = path
    return relative.replace(os.sep, "/")


def _names(paths: list[str]) -> list[str]:
    """A name for each path; the first path with a base name keeps it.

    `xContent` is a name, too, so no name may equal another one with `Content` added.
    """
    wanted = [build_safe_base_name(path) for path in paths]
    kept = set(wanted)
    taken: set[str] = set()
    names: list[str] = []
    counts: dict[str, int] = {}
    for base in wanted:
        name = base
        while {name, f"{name}Content"} & taken or (name != base and name in kept):
            counts[base] = counts.get(base, 1) + 1
            name = f"{base}_{counts[base]}"
        taken |= {name, f"{name}Content"}
        names.append(name)
    return names
