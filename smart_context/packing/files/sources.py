"""Reads the files of one prompt, within the limits and without secrets."""

import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from smart_context.base.disk.folders import TooLarge
from smart_context.base.errors import PathRefused
from smart_context.packing.files.patterns import PatternSet, is_glob
from smart_context.packing.files.secret_scan import find_secrets
from smart_context.vault.guarded.files import NotText, VaultFiles, text_of
from smart_context.vault.guarded.paths import confine
from smart_context.vault.guarded.walk import FileStamp, cut_words, file_stamps

MAX_PEEKED_BYTES = 1 << 20
"""The largest file that is parsed for imports."""

TOO_LARGE = "over the size limit"
SECRET = "with a secret"  # noqa: S105  a reason, not a password
BINARY = "binary"
UNREADABLE = "unreadable"

_SPECIAL = re.compile(r"([*?\[\\])")
_ESCAPED = r"\\\1"
_BINARY_PROBE = 8192
_LFS_POINTER = "version https://git-lfs.github.com/spec/"


SizeLimit = Literal["file", "total", "required"]
"""The limit that a file exceeds: its own, that of all files, or that of required ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """The most bytes of files in one prompt; 0 is no limit."""

    file: int = 1 << 20  # the largest file
    total: int = 10 << 20  # all files together
    required: int = 2 << 20  # all files that a role always includes

    def with_total(self, total: int) -> "SizeLimits":
        """These limits with another total; required files may use all of a raised one."""
        is_raised = total == 0 or total > self.required
        return replace(self, total=total, required=total if is_raised else self.required)

    def in_words(self, limit: SizeLimit) -> str:
        """Such as `10 MiB in all`."""
        size = size_in_words(getattr(self, limit))
        return {"file": f"{size} for a file", "total": f"{size} in all"}.get(
            limit, f"{size} for required files"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file considered for a prompt."""

    path: str  # relative to the repository, with `/`
    size: int = 0  # in bytes; 0 if unknown
    text: str | None = None  # its content; `None` if it was left out
    reason: str = ""  # why it was left out: `TOO_LARGE`, `SECRET`, `BINARY` or `UNREADABLE`
    detail: str = ""  # the reason in words
    limit: SizeLimit | None = None  # with `TOO_LARGE`, the limit that it exceeds


@dataclass(slots=True)
class Allowance:
    """The number of bytes that may still be read."""

    limit: SizeLimit  # the limit behind it
    left: int  # in bytes; without a limit, more than any file has

    @classmethod
    def of(cls, limits: SizeLimits, limit: SizeLimit) -> "Allowance":
        """A full allowance."""
        return cls(limit, getattr(limits, limit) or sys.maxsize)


@dataclass
class Sources:
    """The files of a repository, as one prompt sees them."""

    root: Path
    exclude: PatternSet  # globs that remove files from the matches of other globs
    allow_secrets: bool = False  # also read files that hold keys or tokens
    limits: SizeLimits = field(default_factory=SizeLimits)  # the most bytes that are read
    warnings: list[str] = field(default_factory=list)  # requests that could not be met

    @cached_property
    def _total(self) -> Allowance:
        return Allowance.of(self.limits, "total")

    @cached_property
    def _one_file(self) -> Allowance:
        return Allowance.of(self.limits, "file")

    @cached_property
    def _files(self) -> VaultFiles:
        return VaultFiles(self.root)

    @cached_property
    def stamps(self) -> dict[str, FileStamp]:
        """The stamps of all files but ignored and hidden ones, sorted by path."""
        return self._walked(hidden=False)

    @cached_property
    def _stamps_with_hidden(self) -> dict[str, FileStamp]:
        return self._walked(hidden=True)

    def _walked(self, *, hidden: bool) -> dict[str, FileStamp]:
        found = file_stamps(self.root, hidden=hidden, on_cut=self._note_cut)
        return {stamp[0]: stamp for stamp in sorted(found)}

    def _note_cut(self, folder: str, lines: int) -> None:
        words = cut_words(folder, lines)
        if words not in self.warnings:
            self.warnings.append(words)

    def find(self, patterns: Iterable[str]) -> list[str]:
        """The paths that the patterns match: exact ones first, then those of globs."""
        exact: dict[str, None] = {}
        globs: list[str] = []
        for pattern in patterns:
            if (kind := self._kind(pattern)) == "file":
                exact[normal(pattern)] = None
            elif kind == "folder":
                folder = _SPECIAL.sub(_ESCAPED, normal(pattern))
                globs.append(f"/{folder}/" if folder else "**")
            elif is_glob(pattern) or pattern.startswith("!"):
                globs.append(pattern)
            else:
                self.warnings.append(f"{pattern!r} matches no file of {self.root}")
        return [*exact, *(path for path in self._globbed(globs) if path not in exact)]

    def _globbed(self, globs: list[str]) -> list[str]:
        if not globs:
            return []
        wanted = PatternSet(tuple(globs))
        paths = self._stamps_with_hidden if wanted.wants_hidden else self.stamps
        excludes = self.exclude.excludes
        return [path for path in paths if wanted.picks(path) and not excludes(path)]

    def _kind(self, pattern: str) -> str:
        if pattern.startswith("/") and is_glob(pattern):
            return ""
        try:
            path = confine(self.root, pattern)
            if path.is_file():
                return "file"
            return "folder" if path.is_dir() else ""
        except PathRefused as refused:
            self.warnings.append(str(refused))
        except (OSError, ValueError):
            pass
        return ""

    def read(self, paths: Iterable[str], allowance: Allowance | None = None) -> list[SourceFile]:
        """Read the files; each has its text or the reason why it is left out.

        Args:
            paths: Requested paths; those outside the repository are refused.
            allowance: A second limit in addition to that of the whole prompt.
        """
        allowances = [self._one_file, self._total, *([allowance] if allowance else [])]
        with self._files:
            files = [self._read(path, allowances) for path in paths]
        self.warnings += [
            f"{file.path} contains invisible or direction-changing characters"
            for file in files
            if file.text and not file.text.isascii() and _hides(file.text)
        ]
        if self.allow_secrets:
            return files
        secrets = find_secrets((file.path, file.text) for file in files if file.text is not None)
        return [
            self._withheld(file, secrets[file.path]) if file.path in secrets else file
            for file in files
        ]

    def _withheld(self, file: SourceFile, secret: str) -> SourceFile:
        self.warnings.append(f"{file.path} was left out: it seems to contain {secret}")
        detail = f"seems to contain {secret}"
        return SourceFile(path=file.path, size=file.size, reason=SECRET, detail=detail)

    def _read(self, path: str, allowances: Sequence[Allowance]) -> SourceFile:
        try:
            content = self._content(path, min([each.left for each in allowances]))
        except PathRefused as refused:
            self.warnings.append(str(refused))
            return SourceFile(path=path, reason=UNREADABLE, detail=str(refused))
        except (OSError, ValueError) as error:
            return SourceFile(path=path, reason=UNREADABLE, detail=_words(error))
        if isinstance(content, int):
            return self._too_large(path, content, allowances)
        found = _judged(path, content)
        if found.text is not None:
            for each in allowances[1:]:  # the first is that of one file
                each.left -= found.size
        return found

    def _too_large(self, path: str, size: int, allowances: Sequence[Allowance]) -> SourceFile:
        limit = next(each.limit for each in allowances if each.left < size)
        detail = f"{TOO_LARGE} of {self.limits.in_words(limit)}"
        return SourceFile(path=path, size=size, reason=TOO_LARGE, detail=detail, limit=limit)

    def peek(self, path: str) -> str | None:
        """The text of a file that is only parsed; `None` if it has none."""
        try:
            content = self._content(path, MAX_PEEKED_BYTES)
            return None if isinstance(content, int) else text_of(content)
        except (PathRefused, OSError, ValueError):
            return None

    def _content(self, path: str, at_most: int) -> bytes | int:
        """The bytes of a regular file, or its size if that is more than `at_most`."""
        stamp = self.stamps.get(path)
        if stamp is None:
            if ".git" in path.lower().split("/"):
                raise PathRefused(f"The path {path!r} was refused: it belongs to git.")
            confine(self.root, path)
            path = normal(path)
        elif stamp[2] > at_most:
            return stamp[2]
        try:
            return self._files.content(path, max_bytes=at_most)
        except TooLarge as error:
            return error.size


def _hides(text: str) -> bool:
    """True if a text contains invisible characters."""
    from smart_context.base.text.hidden import hidden_spans  # noqa: PLC0415  3 ms, not for ASCII

    return next(hidden_spans(text), None) is not None


def _judged(path: str, content: bytes) -> SourceFile:
    size = len(content)
    try:
        text = text_of(content, probed=_BINARY_PROBE)
    except NotText as error:
        return SourceFile(path=path, size=size, reason=BINARY, detail=str(error))
    if text.startswith(_LFS_POINTER):
        return SourceFile(path=path, size=size, reason=BINARY, detail="a Git LFS pointer")
    return SourceFile(path=path, size=size, text=text.removeprefix("\ufeff"))


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def size_in_words(size: int) -> str:
    """A size for people: `10 MiB`, `1.5 MiB`, `700 bytes`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} bytes"


def normal(path: str) -> str:
    """A relative path without `.` and empty parts; an absolute one unchanged."""
    if path.startswith("/"):
        return path
    return "/".join(part for part in path.split("/") if part not in {"", "."})


class FilesOnce:
    """The files of one prompt, each under one name. Hard links count as other files.

    Attributes:
        names: The paths that were taken.
    """

    def __init__(self, sources: Sources) -> None:
        self.names: set[str] = set()
        self._sources = sources
        self._led_to: set[str] = set()

    def take(self, paths: Iterable[str]) -> list[str]:
        """As `left`; the next calls leave these files out."""
        names = self.left(paths)
        self.names.update(names)
        self._led_to.update(self._linked(names).values())
        return names

    def left(self, paths: Iterable[str]) -> list[str]:
        """The paths of files that are not taken, each file once.

        Of several names in `paths`, a file keeps its own; else the first.
        """
        names = dict.fromkeys(path for path in paths if path not in self.names)
        seen = {*self.names, *self._led_to}
        for name, file in self._linked(names).items():
            if file in seen or (file != name and file in names):
                del names[name]
            else:
                seen.add(file)
        return [*names]

    def _linked(self, names: Collection[str]) -> dict[str, str]:
        """The files behind those names that may be one of several names of their file."""
        if not names:
            return {}
        stamps, shared = self._sources.stamps, self._shared
        return {
            name: self._real(name)
            for name in names
            if name not in stamps or (shared and stamps[name][3] in shared)
        }

    @cached_property
    def _shared(self) -> set[int]:
        """The inodes with several names."""
        counts = Counter([stamp[3] for stamp in self._sources.stamps.values()])
        return {inode for inode, count in counts.items() if count > 1}

    @cached_property
    def _top(self) -> str:
        return os.path.realpath(self._sources.root) + os.sep

    def _real(self, name: str) -> str:
        """The path of a file without links, relative to the repository if it is in there."""
        try:
            return os.path.realpath(self._sources.root / name).removeprefix(self._top)
        except (OSError, ValueError):  # not a possible path
            return name
