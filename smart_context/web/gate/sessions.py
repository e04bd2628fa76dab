"""The book of sessions: lets browsers in by links and keys, and ends their sessions."""

import logging
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TypeVar

from smart_context.base.errors import StoreFailed
from smart_context.base.shared import SharedValue
from smart_context.base.threads import in_daemon_thread
from smart_context.web.gate.session_record import BrowserSession, RunningServer, SessionRecord

_log = logging.getLogger(__name__)

SEEN_STEP_S = 300
"""The time after which the recorded last use of a session is updated."""

T = TypeVar("T")


@dataclass(eq=False)
class SessionBook:
    """The browsers that were let in to one vault.

    The file decides: a session that another program removes from it is over. If it can't be
    written, new sessions are kept here and end with the server.
    """

    vault: str = ""
    # the record of this user; `None` keeps everything in memory
    file: SharedValue[SessionRecord] | None = None
    _: KW_ONLY
    # the place where the servers of a team keep the sessions, instead of the file
    shared: SharedValue[SessionRecord] | None = None
    outlives_server: bool = False  # sessions go on after a restart
    clock: Callable[[], float] = time.time  # the time in seconds since 1970
    _server: str = field(default_factory=lambda: secrets.token_hex(8), init=False)
    _record: SessionRecord = field(default_factory=SessionRecord, init=False)
    _state: object = field(default=None, init=False)
    _seen: dict[str, int] = field(default_factory=dict, init=False)
    _only_here: frozenset[str] = field(default=frozenset(), init=False)
    _has_warned: bool = field(default=False, init=False)

    def get(self, session_id: str) -> BrowserSession | None:
        """A session of this vault that is not over."""
        session = self._record.sessions.get(session_id)
        if session is None or session.vault != self.vault or session.is_over(self.clock()):
            return None
        return session

    def mark_seen(self, session_ids: Iterable[str]) -> None:
        """Note that these sessions are in use now."""
        now = int(self.clock())
        self._seen.update((session_id, now) for session_id in session_ids)

    async def add(
        self,
        *,
        cookie: str,
        key: str,
        browser: str,
        instead_of: str | None = None,
        claim: str = "",
    ) -> str:
        """Let a browser in; gives the id of its session.

        Args:
            cookie: The digest of its cookie.
            key: The digest of its key.
            instead_of: The session that it had before, which ends.
            claim: The digest of the code for its key.
        """
        now = int(self.clock())
        session = BrowserSession(
            vault=self.vault,
            browser=browser,
            cookie=cookie,
            key=key,
            created_at=now,
            seen_at=now,
            server="" if self.outlives_server else self._server,
            claim=claim,
        )
        session_id = secrets.token_hex(4)

        def change(record: SessionRecord) -> SessionRecord:
            kept = record.without_sessions(frozenset({instead_of} if instead_of else ()))
            return replace(kept, sessions={**kept.sessions, session_id: session})

        await self._update(change)
        return session_id

    async def claim(self, session_id: str) -> bool:
        """Use up a session's claim of its key, at any server.

        False if it is used, or if that can't be recorded where the session is.
        """
        is_ours = False

        def change(record: SessionRecord) -> SessionRecord:
            nonlocal is_ours
            session = record.sessions.get(session_id)
            is_ours = session is not None and bool(session.claim)
            if session is None or not is_ours:
                return record
            return replace(
                record, sessions={**record.sessions, session_id: replace(session, claim="")}
            )

        is_kept = await self._update(change)
        return is_ours and (is_kept or session_id in self._only_here)

    async def take_link(self, digest: str) -> bool:
        """Use up a start link that a command made; False if it is invalid or can't be removed."""
        taken = False

        def change(record: SessionRecord) -> SessionRecord:
            nonlocal taken
            link = record.links.get(digest)
            taken = (
                link is not None and link.server == self._server and link.expires_at >= self.clock()
            )
            if not taken:
                return record
            return replace(
                record, links={key: value for key, value in record.links.items() if key != digest}
            )

        return await self._update_here(change) and taken

    async def open(self, address: str) -> None:
        """Read the record, and enter this server in it.

        Args:
            address: Its address for browsers on this machine.
        """

        def change(record: SessionRecord) -> SessionRecord:
            # No other server can have this address: one with it in the record was killed.
            gone = {key for key, value in record.servers.items() if value.address == address}
            kept = record.without_servers(frozenset(gone))
            here = RunningServer(vault=self.vault, address=address)
            return replace(kept, servers={**kept.servers, self._server: here})

        await self._update_here(change)
        if self.shared is not None:
            await self._read(self.shared)

    async def refresh(self) -> frozenset[str]:
        """Record the sessions in use, and read the changes of other servers.

        Returns:
            The sessions that have ended since.
        """
        if (record := self.shared or self.file) is None:
            return frozenset()
        before = frozenset(self._record.sessions)
        self._seen = {key: seen for key, seen in self._seen.items() if key in before}
        if self._is_news():
            await self._update(self._with_seen)
        else:
            await self._read(record)
        return before - frozenset(self._record.sessions)

    async def close(self) -> None:
        """Remove this server, and the sessions that end with it, from the record."""

        def change(record: SessionRecord) -> SessionRecord:
            return self._with_seen(record).without_servers(frozenset({self._server}))

        await self._update(change)
        await self._update_here(change)

    def _is_news(self) -> bool:
        return any(
            session_id in self._record.sessions
            and seen - self._record.sessions[session_id].seen_at >= SEEN_STEP_S
            for session_id, seen in self._seen.items()
        )

    def _with_seen(self, record: SessionRecord) -> SessionRecord:
        sessions = {
            key: replace(value, seen_at=max(value.seen_at, self._seen.get(key, 0)))
            for key, value in record.sessions.items()
        }
        return replace(record, sessions=sessions)

    async def _read(self, shared: SharedValue[SessionRecord]) -> None:
        try:
            state, record = await _apart(shared.read)
        except StoreFailed as error:
            self._warn(error)
        else:
            if state != self._state:
                self._state, self._record = state, self._with_those_here(record)

    async def _update(self, change: Callable[[SessionRecord], SessionRecord]) -> bool:
        """Change the record, or only the part kept here; False if it could not be written."""

        def changed(record: SessionRecord) -> SessionRecord:
            return change(self._with_those_here(record).pruned(self.clock()))

        kept = self.shared or self.file
        if kept is not None:
            try:
                self._state, self._record = await _apart(lambda: kept.update(changed))
            except StoreFailed as error:
                self._warn(error)
            else:
                self._only_here = frozenset()
                return True
        before = self._record.sessions
        self._record = changed(self._record)
        if self.file is not None and self.shared is None:
            self._only_here |= self._record.sessions.keys() - before.keys()
        return kept is None

    def _with_those_here(self, record: SessionRecord) -> SessionRecord:
        """The record with the sessions that could not be written yet."""
        here = {key: one for key, one in self._record.sessions.items() if key in self._only_here}
        return replace(record, sessions={**record.sessions, **here})

    async def _update_here(self, change: Callable[[SessionRecord], SessionRecord]) -> bool:
        """Change the part of this machine: its servers, and their start links.

        False if it could not be written.
        """
        file = self.file
        if self.shared is None:
            return await self._update(change)
        if file is None:
            return False
        try:
            await _apart(lambda: file.update(lambda now: change(now.pruned(self.clock()))))
        except StoreFailed as error:
            _log.info("Start links from a terminal do not work: %s", error)
            return False
        return True

    def _warn(self, error: StoreFailed) -> None:
        if self.shared is not None:  # a database comes back
            _log.warning("Sessions can't be read or written now: %s", error)
        elif not self._has_warned:
            self._has_warned = True
            level = logging.WARNING if self.outlives_server else logging.INFO
            _log.log(level, "Browsers have to be let in again after a restart: %s", error)


async def _apart(work: Callable[[], T]) -> T:
    return await in_daemon_thread(work, name="sessions")
