"""The record of browser sessions, start links and running servers. Pure.

It holds only digests made with the server's token: reading it lets nobody in, and sessions made
under another token are invalid.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from smart_context.base.disk.places import Place
from smart_context.base.disk.shared_file import SharedFile

IDLE_DAYS = 30
"""Longest that a session lasts unused."""

LINK_S = 600
"""Time to open a start link."""

MAX_SESSIONS = 200
"""The most sessions of all vaults; the longest unused ones are removed first."""

_BROWSERS = (
    ("Edge", "Edg"),
    ("Opera", "OPR/"),
    ("Firefox", "Firefox/|FxiOS/"),
    ("Chrome", "Chrome/|CriOS/"),
    ("Safari", "Safari/"),
)
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iOS", "iPhone|iPad"),
    ("macOS", "Mac OS X"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSession:
    """A browser's session with one vault."""

    vault: str
    browser: str  # its name in a few words
    cookie: str  # the digest of its cookie
    key: str  # the digest of the key that its pages send
    created_at: int  # in seconds since 1970
    seen_at: int  # the time of its last use, to a few minutes
    server: str = ""  # the server with which it ends; empty if it survives a restart
    claim: str = ""  # the digest of the code for which its page gets the key; empty once it has

    def is_over(self, now: float) -> bool:
        """True if it was unused for too long."""
        return now - self.seen_at > IDLE_DAYS * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A running server; a killed one leaves its entry behind."""

    vault: str
    address: str  # its address for browsers on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLink:
    """An unused start link that was requested in a terminal."""

    server: str
    expires_at: int  # in seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """The sessions and servers by id, and the links by digest."""

    sessions: Mapping[str, BrowserSession] = field(default_factory=dict)
    servers: Mapping[str, RunningServer] = field(default_factory=dict)
    links: Mapping[str, StartLink] = field(default_factory=dict)

    def pruned(self, now: float) -> "SessionRecord":
        """The record without expired entries."""
        live = [(key, value) for key, value in self.sessions.items() if not value.is_over(now)]
        live.sort(key=lambda entry: entry[1].seen_at, reverse=True)
        links = {key: link for key, link in self.links.items() if link.expires_at >= now}
        return replace(self, sessions=dict(live[:MAX_SESSIONS]), links=links)

    def without_sessions(self, ids: frozenset[str]) -> "SessionRecord":
        """The record without these sessions."""
        kept = {key: value for key, value in self.sessions.items() if key not in ids}
        return replace(self, sessions=kept)

    def without_servers(self, ids: frozenset[str]) -> "SessionRecord":
        """The record without these servers, their links, and sessions that end with them."""
        return replace(
            self,
            servers={key: value for key, value in self.servers.items() if key not in ids},
            sessions={k: value for k, value in self.sessions.items() if value.server not in ids},
            links={key: value for key, value in self.links.items() if value.server not in ids},
        )


def browser_name(user_agent: str) -> str:
    """A browser's name in known words: `Firefox on Linux`."""
    browser = _first(_BROWSERS, user_agent)
    system = _first(_SYSTEMS, user_agent)
    if browser is None:
        return "A program"
    return f"{browser} on {system}" if system else browser


def _first(names: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for name, pattern in names if re.search(pattern, text[:1000])), None)


FILE_NAME = "sessions.json"
SessionFile = SharedFile[SessionRecord]
RECORD_OF_SESSIONS = TypeAdapter(SessionRecord)


def session_file(folder: Path) -> SessionFile:
    """The record in the user's folder for settings, which several servers and commands share.

    A damaged one reads as empty, so nobody gets in by it.
    """
    place = Place(folder, (FILE_NAME,))
    return SharedFile(place=place, adapter=RECORD_OF_SESSIONS, empty=SessionRecord())
