"""Describes the chat formats of a program; a new one is a module and a line in `programs.py`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from smart_context.importing.found import FoundChat, text_of
from smart_context.importing.tables import Tables

Rows = Sequence[Mapping[str, Any]]
"""The JSON objects of a file, one for each line."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[K]):
    """One of the formats in which a program stores chats."""

    fits: Callable[[K], bool]  # True for a file, document or database in this format
    read: Callable[[K], FoundChat | Iterator[FoundChat] | None]  # returns the chat or chats in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A file whose lines are one chat."""

    rows: Rows
    name: str  # the file's name without its ending, for a session without an id

    @property
    def first(self) -> Rows:
        """The lines that suffice to recognise the program."""
        return self.rows[:50]

    def parted(
        self,
        key_of: Callable[[Mapping[str, Any]], str],
        is_said: Callable[[Mapping[str, Any]], bool],
    ) -> Iterator["Session"]:
        """The sessions in a file into which somebody joined several.

        Args:
            key_of: The session's id in the lines that begin one; empty for other lines.
            is_said: True for a message; the lines before the first one describe the session.
        """
        rows: list[Mapping[str, Any]] = []
        keys: set[str] = set()  # a session that continues another begins with the ids of both
        has_said = False
        for row in self.rows:
            if key := key_of(row):
                if has_said and keys and key not in keys:
                    yield replace(self, rows=rows)
                    rows, keys, has_said = [], set(), False
                keys.add(key)
            has_said = has_said or is_said(row)
            rows.append(row)
        yield replace(self, rows=rows)


def is_said(row: Mapping[str, Any]) -> bool:
    """True for a message, in formats in which a line names the line before."""
    return "message" in row


def session_begun(row: Mapping[str, Any]) -> str:
    """The id of the session that a line begins, in formats in which a line names the line before.

    A session that continues another contains its lines, and its own first line follows them.
    """
    follows = any(row.get(key) for key in ("parentUuid", "logicalParentUuid", "isSidechain"))
    return "" if follows or not is_said(row) else text_of(row.get("sessionId"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scattered:
    """Finds the files of each session that a program stores in several, by their paths alone.

    They are read as the lines of one file, so `Program.session` recognises them.
    """

    # the folders that belong to a folder of sessions, which a user may name
    beside: Callable[[Path], Sequence[Path]]
    # the other files of each session in order, by its first file
    gather: Callable[[Sequence[Path]], Mapping[Path, Sequence[Path]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program whose chats can be read, with each format in which it stores them."""

    name: str  # as in `source.client`
    title: str  # its name for users
    signs: Sequence[bytes] = ()  # bytes near the beginning of its files, even of damaged ones
    conversation: Form[Mapping[str, Any]] | None = None  # an object, alone or in a list
    export: Form[Mapping[str, Any]] | None = None  # an object with all of its chats
    session: Form[Session] | None = None  # JSON lines
    scattered: Scattered | None = None  # a session in several files
    text: Form[str] | None = None  # Markdown or plain text
    database: Form[Tables] | None = None  # SQLite
    # the advice for a web page of this program, which can't be read; empty for other pages
    page: Callable[[str], str] = lambda _: ""
