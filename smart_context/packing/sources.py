"""Reads the files of one prompt: each once, within the limits, and nothing that holds a secret."""

import math
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from smart_context.disk.folders import TooLarge
from smart_context.errors import PathRefused
from smart_context.packing.patterns import PatternSet, is_glob
from smart_context.packing.secret_scan import find_secrets
from smart_context.vault.guarded.files import VaultFiles
from smart_context.vault.guarded.paths import confine
from smart_context.vault.guarded.walk import file_stamps

MAX_PEEKED_BYTES = 1 << 20
"""Largest file that is looked into for its imports."""

TOO_LARGE = "over the size limit"
SECRET = "with a secret"  # noqa: S105  a reason, not a password
BINARY = "binary"
UNREADABLE = "unreadable"

_SPECIAL = re.compile(r"([*?\[\\])")
_ESCAPED = r"\\\1"
_BINARY_PROBE = 8192
_LFS_POINTER = "version https://git-lfs.github.com/spec/"


SizeLimit = Literal["file", "total", "required"]
"""Which limit a file exceeds: its own, that of all files, that of required ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """How many bytes of files go into one prompt; 0 is no limit.

    Attributes:
        file: The largest file.
        total: All files together.
        required: All files that a role always includes.
    """

    file: int = 1 << 20
    total: int = 10 << 20
    required: int = 2 << 20

    def with_total(self, total: int) -> "SizeLimits":
        """The same with another total, which required files may fill."""
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
    """A file that was looked at for a prompt.

    Attributes:
        path: Relative to the repository, with `/`.
        size: In bytes; 0 when it could not be told.
        text: What it holds; `None` when it was left out.
        reason: Why it was left out: `TOO_LARGE`, `SECRET`, `BINARY` or `UNREADABLE`.
        detail: The reason in words that name the case.
        limit: With `TOO_LARGE`, the limit that it exceeds.
    """

    path: str
    size: int = 0
    text: str | None = None
    reason: str = ""
    detail: str = ""
    limit: SizeLimit | None = None


@dataclass(slots=True)
class Allowance:
    """How many bytes may still be read.

    Attributes:
        limit: What it stands for.
        left: In bytes; infinite without a limit.
    """

    limit: SizeLimit
    left: float

    @classmethod
    def of(cls, limits: SizeLimits, limit: SizeLimit) -> "Allowance":
        """A full allowance."""
        return cls(limit, getattr(limits, limit) or math.inf)


@dataclass
class Sources:
    """The files of a repository, as one prompt sees them.

    Attributes:
        root: The repository.
        exclude: Globs that take files out of what other globs find.
        allow_secrets: Read files that hold keys or tokens, too.
        limits: How much is read.
        warnings: What was asked for and could not be done.
    """

    root: Path
    exclude: PatternSet
    allow_secrets: bool = False
    limits: SizeLimits = field(default_factory=SizeLimits)
    warnings: list[str] = field(default_factory=list)

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
    def sizes(self) -> dict[str, int]:
        """All files but ignored and hidden ones, sorted by path, with their sizes in bytes."""
        return self._walked(hidden=False)

    @cached_property
    def _sizes_with_hidden(self) -> dict[str, int]:
        return self._walked(hidden=True)

    def _walked(self, *, hidden: bool) -> dict[str, int]:
        stamps = sorted(file_stamps(self.root, hidden=hidden))
        return {path: size for path, _, size, _ in stamps}

    def find(self, patterns: Iterable[str]) -> list[str]:
        """The paths that the patterns name: exact ones first, as given, then those of globs."""
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
                self.warnings.append(f"{pattern!r} names no file of {self.root}")
        return [*exact, *(path for path in self._globbed(globs) if path not in exact)]

    def _globbed(self, globs: list[str]) -> list[str]:
        if not globs:
            return []
        wanted = PatternSet(tuple(globs))
        sizes = self._sizes_with_hidden if wanted.wants_hidden else self.sizes
        excludes = self.exclude.excludes
        return [path for path in sizes if wanted.picks(path) and not excludes(path)]

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
        """The files' texts, or why they are left out. What is read counts against the limits.

        Args:
            paths: As requests: one is refused when it would leave the repository.
            allowance: A second limit beside that of the whole prompt.
        """
        with self._files:
            files = [self._read(path, allowance) for path in paths]
        self.warnings += [
            f"{file.path} holds invisible or direction-changing characters"
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
        self.warnings.append(f"{file.path} was left out: it seems to hold {secret}")
        detail = f"seems to hold {secret}"
        return SourceFile(path=file.path, size=file.size, reason=SECRET, detail=detail)

    def _read(self, path: str, allowance: Allowance | None) -> SourceFile:
        allowances = [self._total, *([allowance] if allowance else [])]
        tightest = min([self._one_file, *allowances], key=lambda each: each.left)
        try:
            content = self._content(path, tightest.left)
        except PathRefused as refused:
            self.warnings.append(str(refused))
            return SourceFile(path=path, reason=UNREADABLE, detail=str(refused))
        except (OSError, ValueError) as error:
            return SourceFile(path=path, reason=UNREADABLE, detail=_words(error))
        if isinstance(content, int):
            return self._too_large(path, content, [self._one_file, *allowances])
        found = _judged(path, content)
        if found.text is not None:
            for each in allowances:
                each.left -= found.size
        return found

    def _too_large(self, path: str, size: int, allowances: Sequence[Allowance]) -> SourceFile:
        limit = next(each.limit for each in allowances if each.left < size)
        detail = f"{TOO_LARGE} of {self.limits.in_words(limit)}"
        return SourceFile(path=path, size=size, reason=TOO_LARGE, detail=detail, limit=limit)

    def peek(self, path: str) -> str | None:
        """The text of a file that will not be shown; `None` when it has none."""
        try:
            content = self._content(path, MAX_PEEKED_BYTES)
            return None if isinstance(content, int) else content.decode()
        except (PathRefused, OSError, ValueError):
            return None

    def _content(self, path: str, at_most: float) -> bytes | int:
        """The bytes of a regular file, or its size when that is more than `at_most`."""
        size = self.sizes.get(path)
        if size is None:
            if ".git" in path.lower().split("/"):
                raise PathRefused(f"The path {path!r} was refused: it is git's own.")
            confine(self.root, path)
        elif size > at_most:
            return size
        try:
            return self._files.content(normal(path), max_bytes=int(min(at_most, sys.maxsize)))
        except TooLarge as error:
            return error.size


def _hides(text: str) -> bool:
    """Whether a text holds characters that nobody sees."""
    from smart_context.text.hidden import hidden_spans  # noqa: PLC0415  3 ms, not for ASCII

    return next(hidden_spans(text), None) is not None


def _judged(path: str, content: bytes) -> SourceFile:
    size = len(content)
    if b"\0" in content[:_BINARY_PROBE]:
        return SourceFile(path=path, size=size, reason=BINARY, detail="a binary file")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return SourceFile(path=path, size=size, reason=BINARY, detail="not UTF-8 text")
    if text.startswith(_LFS_POINTER):
        return SourceFile(path=path, size=size, reason=BINARY, detail="a Git LFS pointer")
    return SourceFile(path=path, size=size, text=text.removeprefix("\ufeff"))


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def size_in_words(size: int) -> str:
    """Bytes as people write them: `10 MiB`, `1.5 MiB`, `700 bytes`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} bytes"


def normal(path: str) -> str:
    """A relative path without its `.` and empty parts; an absolute one as it is."""
    if path.startswith("/"):
        return path
    return "/".join(part for part in path.split("/") if part not in {"", "."})


def without(paths: Iterable[str], taken: Collection[str]) -> list[str]:
    """The paths that no higher section has, each once."""
    return [path for path in dict.fromkeys(paths) if path not in taken]
