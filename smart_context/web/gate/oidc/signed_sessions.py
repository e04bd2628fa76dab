"""Sessions of people who logged in, signed so that every process of the vault knows them.

The secret lies in the vault's storage, which all processes share, and is mixed with the provider's
secret: neither alone makes a session. A session that was ended is listed there until it would have
ended by itself.
"""

import asyncio
import base64
import binascii
import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from pydantic import TypeAdapter

from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject, PersonId
from smart_context.host.reading import PEOPLE
from smart_context.web.gate.access import cookie_values, same_text

SESSION_S = 12 * 3600
"""The duration of a session; then the provider is asked again."""

CLAIM_S = 60
"""Time for a page from logging in to its key."""

LOGIN_S = 600
"""Time to log in at the provider."""

LONGEST_LOCATION = 2_000
"""The longest address of a page after logging in: browsers drop cookies of more than 4 KB."""

LOOK_AGAIN_S = 2.0
"""The longest time for which a session that was ended elsewhere may still be let in."""

_SECRET = "session-secret"  # noqa: S105 - the name of a document
_LEAST_SECRET = 32
_ENDED = "ended"
_MOST_KNOWN = 10_000
_SWEEP_EACH_S = 3600.0
_LONGEST_KEY = 60


class SharedDocuments(Protocol):
    """JSON objects by kind and key, which all processes of the vault share. Blocks."""

    def read(self, kind: str, key: str) -> JsonObject | None:
        """The object; `None` if there is none."""

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        """Store an object in place of the previous one."""

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        """Store an object unless there is one; True if it was stored."""

    def delete(self, kind: str, key: str) -> bool:
        """Delete an object; True if there was one."""

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSession:
    """The session of a person who logged in, in one browser."""

    id: str  # names the session
    sub: str  # the person, as the provider names them
    name: str  # their name for people
    expires_at: int  # in seconds since 1970


_SESSION = TypeAdapter(PersonSession)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login that has begun."""

    state: str  # sent back by the provider
    location: str  # the path on this server to open afterwards


@dataclass(eq=False, repr=False)
class SignedSessions:
    """Makes and checks sessions."""

    documents: SharedDocuments  # shared by all processes of the vault
    pepper: str  # the provider's secret and name: sessions of another provider are not valid here
    _: KW_ONLY
    clock: Callable[[], float] = time.time  # the time in seconds since 1970
    _key: bytes = field(default=b"", init=False)
    _ended: dict[str, tuple[float, bool]] = field(default_factory=dict, init=False)
    _swept_at: float = field(default=0.0, init=False)

    async def open(self) -> None:
        """Read the secret, which is made when there is none."""
        await asyncio.to_thread(self._read_secret)

    @property
    def cookie_name(self) -> str:
        """The session's cookie: the same on every process, and another for another vault."""
        return f"smart_context_{self._digest('cookie name')[:8]}"

    def login_cookie_name(self, state: str) -> str:
        """The cookie of a login that has begun; each has its own, since several tabs may log in."""
        return f"{self.cookie_name}_{sha256(state.encode()).hexdigest()[:8]}"

    def new_session(self, sub: str, name: str) -> PersonSession:
        """A session that begins now."""
        expires_at = int(self.clock()) + SESSION_S
        return PersonSession(
            id=secrets.token_hex(16), sub=sub, name=name[:80], expires_at=expires_at
        )

    def session_cookie(self, session: PersonSession) -> str:
        """The value of a session's cookie."""
        return self._signed("session", asdict(session))

    async def session_in(self, cookies: Iterable[bytes]) -> PersonSession | None:
        """The session whose cookie is among `Cookie` headers, if it is not over."""
        if not self._key:
            await self.open()
        for value in cookie_values(cookies, self.cookie_name):
            read = self._read("session", value)
            if read is None:
                continue
            session = _SESSION.validate_python(read)
            if not await self.is_over(session.id):
                return session
        return None

    async def note_name(self, person: PersonId, name: str) -> None:
        """Remember a person's own name, for those with whom they share chats."""
        if len(person.encode()) <= _LONGEST_KEY:
            await asyncio.to_thread(self.documents.write, PEOPLE, person, {"name": name[:80]})

    async def end(self, session: PersonSession) -> None:
        """End a session on every process."""
        self._ended[session.id] = self.clock(), True
        await asyncio.to_thread(
            self.documents.write, _ENDED, session.id, {"expires_at": session.expires_at}
        )
        if self.clock() - self._swept_at >= _SWEEP_EACH_S:
            self._swept_at = self.clock()
            await asyncio.to_thread(self._forget_old)

    async def is_over(self, session_id: str) -> bool:
        """True if a session was ended, here or by another process a moment ago."""
        looked_at, is_ended = self._ended.get(session_id, (0.0, False))
        if is_ended or self.clock() - looked_at < LOOK_AGAIN_S:
            return is_ended
        found = await asyncio.to_thread(self.documents.read, _ENDED, session_id)
        if len(self._ended) >= _MOST_KNOWN:
            self._ended.clear()
        self._ended[session_id] = self.clock(), found is not None
        return found is not None

    def key_of(self, session: PersonSession) -> str:
        """The key that pages of a session send; no other port of the host sees it."""
        return self._digest("key", session.id)

    def file_pass(self, session: PersonSession) -> str:
        """The part of a file's address that opens it, since an image can't send a header."""
        return self._digest("files", session.id)[:32]

    def new_code(self, session: PersonSession) -> str:
        """The code that the next page exchanges for the key, within a minute."""
        until = int(self.clock()) + CLAIM_S
        return f"{until}-{self._digest('code', session.id, str(until))}"

    def accepts_code(self, session: PersonSession, code: str) -> bool:
        """True if a code of this session is not too old."""
        until, _, given = code.partition("-")
        is_ours = same_text(given, self._digest("code", session.id, until))
        return is_ours and int(until) >= self.clock()

    def new_login(self, location: str) -> Login:
        """A login that begins now; it leads to the first page if the location is too long."""
        is_short = location.isascii() and len(location) <= LONGEST_LOCATION
        location = location if is_short else "/"
        return Login(state=secrets.token_urlsafe(24), location=location)

    def login_cookie(self, login: Login) -> str:
        """The value of the cookie of a login that has begun."""
        until = int(self.clock()) + LOGIN_S
        value = {"state": login.state, "location": login.location, "expires_at": until}
        return self._signed("login", value)

    def login_in(self, cookies: Iterable[bytes], state: str) -> Login | None:
        """The login of this state that this browser has begun."""
        for value in cookie_values(cookies, self.login_cookie_name(state)):
            read = self._read("login", value)
            if read is not None and same_text(str(read["state"]), state):
                return Login(state=state, location=str(read["location"]))
        return None

    def verifier_of(self, login: Login) -> str:
        """The secret of PKCE; never leaves the server until the code is exchanged."""
        return self._digest("verifier", login.state)

    def nonce_of(self, login: Login) -> str:
        """The nonce that the provider's token must have."""
        return self._digest("nonce", login.state)

    def _signed(self, purpose: str, value: JsonObject) -> str:
        text = base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
        return f"{text}.{self._digest(purpose, text)}"

    def _read(self, purpose: str, signed: str) -> JsonObject | None:
        text, _, signature = signed.partition(".")
        if not same_text(signature, self._digest(purpose, text)):
            return None
        try:
            value: JsonObject = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, ValueError):
            return None
        return value if value["expires_at"] >= self.clock() else None

    def _digest(self, purpose: str, *of: str) -> str:
        text = "\0".join((purpose, *of))
        return hmac.new(self._key, text.encode("utf-8", "replace"), sha256).hexdigest()

    def _read_secret(self) -> None:
        stored = self.documents.read("", _SECRET)
        if stored is None:
            self.documents.add("", _SECRET, {"secret": secrets.token_hex(32)})
            stored = self.documents.read("", _SECRET) or {}  # perhaps another process's
        secret = stored.get("secret")
        if not isinstance(secret, str) or len(secret) < _LEAST_SECRET:
            raise StoreFailed(
                "The secret of the sessions can't be read, so nobody can log in. Remove "
                f"'{_SECRET}' from the vault's storage; a new one is made."
            )
        self._key = hmac.new(secret.encode(), self.pepper.encode(), sha256).digest()

    def _forget_old(self) -> None:
        for session_id in self.documents.keys(_ENDED):
            expires_at = (self.documents.read(_ENDED, session_id) or {}).get("expires_at")
            if isinstance(expires_at, int) and expires_at < self.clock():
                self.documents.delete(_ENDED, session_id)
