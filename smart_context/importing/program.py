"""How a program keeps its chats, so that a new one is a module and a line in `programs.py`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from smart_context.importing.found import FoundChat, text_of
from smart_context.importing.tables import Tables

Rows = Sequence[Mapping[str, Any]]
"""The objects of a file's lines."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[K]):
    """One of the forms in which a program keeps chats."""

    fits: Callable[[K], bool]  # recognises it
    read: Callable[[K], FoundChat | Iterator[FoundChat] | None]  # the chat, or each chat, in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A file whose lines make up one chat."""

    rows: Rows
    name: str  # the file's name without its ending, for a session without an id

    @property
    def first(self) -> Rows:
        """The lines that show whose it is."""
        return self.rows[:50]

    def parted(
        self,
        key_of: Callable[[Mapping[str, Any]], str],
        is_said: Callable[[Mapping[str, Any]], bool],
    ) -> Iterator["Session"]:
        """The sessions in a file to which somebody has joined several.

        Args:
            key_of: What tells a session, in the lines with which one begins; empty for others.
            is_said: True for a message; until there is one, lines are about the session.
        """
        rows: list[Mapping[str, Any]] = []
        keys: set[str] = set()  # a session that goes on from another begins with both
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
    """True for a message, in forms whose lines name the line before."""
    return "message" in row


def session_begun(row: Mapping[str, Any]) -> str:
    """The id of the session that a line begins, in forms whose lines name the line before.

    A session that goes on from another has the lines of that one, too, and follows them.
    """
    follows = any(row.get(key) for key in ("parentUuid", "logicalParentUuid", "isSidechain"))
    return "" if follows or not is_said(row) else text_of(row.get("sessionId"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scattered:
    """How a program keeps a session in several files, told by their paths alone.

    They are read as the lines of one, so that `Program.session` is what recognises it.
    """

    # the folders that belong to a folder which holds sessions, as a user may name it
    beside: Callable[[Path], Sequence[Path]]
    # the other files of each session, in order, by the file that it begins with
    gather: Callable[[Sequence[Path]], Mapping[Path, Sequence[Path]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program whose chats are read, by each form in which it keeps them."""

    name: str  # as `source.client` has it
    title: str  # as people know it
    signs: Sequence[bytes] = ()  # what a file of it begins with, even if the rest is damaged
    conversation: Form[Mapping[str, Any]] | None = None  # an object, alone or in a list
    export: Form[Mapping[str, Any]] | None = None  # an object that holds all of its chats
    session: Form[Session] | None = None  # JSON lines
    scattered: Scattered | None = None  # a session in several files
    text: Form[str] | None = None  # Markdown, or plain text
    database: Form[Tables] | None = None  # SQLite
    # what to do with a web page that begins so, as none is read; empty for a page of others
    page: Callable[[str], str] = lambda _: ""
