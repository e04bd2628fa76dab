"""The record of the browsers that were let in, of start links and of running servers. Pure.

It holds digests only, made with the server's token: whoever reads it can't get in by it, and a
session that was made under another token is no session.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

IDLE_DAYS = 30
"""How long a session lasts without being used."""

LINK_S = 600
"""How long a start link can be opened."""

MAX_SESSIONS = 200
"""The most sessions that are kept, of all vaults; the longest unused ones go first."""

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
    """One browser that was let in to one vault.

    Attributes:
        vault: The vault's folder.
        browser: What it calls itself, in words of ours.
        cookie: The digest of its cookie.
        key: The digest of the key that its pages send.
        created_at: When it was let in, in seconds since 1970.
        seen_at: When it was last used, a few minutes more or less.
        server: The server that it ends with; empty when it goes on after a restart.
    """

    vault: str
    browser: str
    cookie: str
    key: str
    created_at: int
    seen_at: int
    server: str = ""

    def is_over(self, now: float) -> bool:
        """Whether it was not used for too long."""
        return now - self.seen_at > IDLE_DAYS * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A server, as long as it runs; one that was killed leaves this behind.

    Attributes:
        vault: The vault's folder.
        address: Where a browser on this machine finds it.
    """

    vault: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLink:
    """A start link that was asked for in a terminal and not used yet.

    Attributes:
        server: Whose it is.
        expires_at: When it stops working, in seconds since 1970.
    """

    server: str
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All that is known, by id; links by the digest of what they carry."""

    sessions: Mapping[str, BrowserSession] = field(default_factory=dict)
    servers: Mapping[str, RunningServer] = field(default_factory=dict)
    links: Mapping[str, StartLink] = field(default_factory=dict)

    def pruned(self, now: float) -> "Record":
        """Without what is over."""
        live = [(key, value) for key, value in self.sessions.items() if not value.is_over(now)]
        live.sort(key=lambda entry: entry[1].seen_at, reverse=True)
        links = {key: link for key, link in self.links.items() if link.expires_at >= now}
        return replace(self, sessions=dict(live[:MAX_SESSIONS]), links=links)

    def without_sessions(self, ids: frozenset[str]) -> "Record":
        """Without these sessions."""
        kept = {key: value for key, value in self.sessions.items() if key not in ids}
        return replace(self, sessions=kept)

    def without_servers(self, ids: frozenset[str]) -> "Record":
        """Without these servers, their links and the sessions that end with them."""
        return replace(
            self,
            servers={key: value for key, value in self.servers.items() if key not in ids},
            sessions={k: value for k, value in self.sessions.items() if value.server not in ids},
            links={key: value for key, value in self.links.items() if value.server not in ids},
        )


_RECORD = TypeAdapter(Record)


def read_record(content: bytes) -> Record:
    """The record that a file holds; of a damaged one nothing counts, so nobody is let in by it."""
    try:
        return _RECORD.validate_json(content)
    except ValidationError:
        return Record()


def render_record(record: Record) -> bytes:
    """The record as a file holds it."""
    return _RECORD.dump_json(record, indent=1)


def browser_name(user_agent: str) -> str:
    """A browser's name in a few words, none of them its own: `Firefox on Linux`."""
    browser = _first(_BROWSERS, user_agent)
    system = _first(_SYSTEMS, user_agent)
    if browser is None:
        return "A program"
    return f"{browser} on {system}" if system else browser


def _first(names: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for name, pattern in names if re.search(pattern, text[:1000])), None)
