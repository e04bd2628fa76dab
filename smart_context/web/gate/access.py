"""The secrets of one server: the token, start links, and what browsers are given for them.

A start link works once. It gives a browser two secrets: a cookie, which it sends to every port
of this host, and a key, which its pages keep in the storage of their own origin and which no
other port sees. The cookie alone opens nothing that belongs to the vault.
"""

import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256

from smart_context.web.gate.sessions.browser_sessions import LINK_S, BrowserSession, browser_name
from smart_context.web.gate.sessions.session_book import SessionBook

COOKIE_DAYS = 400
"""Longest that browsers keep a cookie; the record decides how long it works."""

CLAIM_S = 60
"""Time for a page from its start link to its key."""

_MAX_CLAIMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserLogin:
    """A browser with the cookie of a session."""

    id: str
    session: BrowserSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """What a browser gets for a start link.

    Attributes:
        cookie: The value of the cookie.
        code: The next page exchanges it for the key, once.
    """

    cookie: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    id: str
    key: str
    expires_at: float


class Access:
    """Checks and gives out the secrets of one server.

    Args:
        token: The user's secret, which programs send as `Authorization: Bearer`; `None` or blank
            makes a random one.
        book: Keeps the sessions; `None` keeps them in memory.
        clock: The time in seconds since 1970.
    """

    def __init__(
        self,
        token: str | None = None,
        book: SessionBook | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        chosen = (token or "").strip()
        self._token = (chosen or secrets.token_urlsafe(32)).encode()
        self._is_lasting = bool(chosen)
        self._clock = clock
        self._links: dict[str, float] = {}
        self._claims: dict[str, _Claim] = {}
        self.book = book or SessionBook(clock=clock)

    def new_link_token(self) -> str:
        """The token of a new start link; it works once, for a short time."""
        link_token = secrets.token_urlsafe(24)
        self._links[link_digest(link_token)] = self._clock() + LINK_S
        return link_token

    def accepts_bearer(self, authorization: bytes) -> bool:
        """True if the value of an `Authorization` header is our token."""
        scheme, _, credentials = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and _same(credentials.strip(), self._token)

    async def follow_link(
        self, link_token: str, *, user_agent: str, previous: BrowserLogin | None
    ) -> Welcome | None:
        """Use up a start link; `None` when it is unknown, used or too old.

        Args:
            previous: The browser's current session; it ends.
        """
        if not await self._take_link(link_digest(link_token)):
            return None
        secret, key, code = (secrets.token_urlsafe(32) for _ in range(3))
        session_id = await self.book.add(
            cookie=self._digest("cookie", secret),
            key=self._digest("key", key),
            browser=browser_name(user_agent),
            instead_of=previous.id if previous else None,
        )
        now = self._clock()
        live = [(k, claim) for k, claim in self._claims.items() if claim.expires_at >= now]
        self._claims = dict(live[-_MAX_CLAIMS:])
        self._claims[code] = _Claim(id=session_id, key=key, expires_at=now + CLAIM_S)
        return Welcome(cookie=f"{session_id}.{secret}", code=code)

    def claim_key(self, login: BrowserLogin, code: str) -> str | None:
        """The key of a browser that has just followed a start link; given out once."""
        claim = self._claims.get(code)
        if claim is None or claim.id != login.id or claim.expires_at < self._clock():
            return None
        del self._claims[code]
        return claim.key

    def login_of(self, cookie_headers: Iterable[bytes], port: int) -> BrowserLogin | None:
        """The browser whose cookie is among the `Cookie` headers."""
        name = _cookie_name(port).encode()
        pairs = (
            pair.strip().partition(b"=") for line in cookie_headers for pair in line.split(b";")
        )
        for found, _, value in pairs:
            if found == name and (login := self._login(value.decode("latin-1"))):
                return login
        return None

    def accepts_key(self, login: BrowserLogin, key: str) -> bool:
        """True if a page sent the key of its browser's session."""
        return same_text(self._digest("key", key), login.session.key)

    def file_pass(self, login: BrowserLogin) -> str:
        """The part of a file's address that opens it, since an image can't send a header."""
        return self._digest("files", login.session.cookie)[:32]

    def cookie(self, value: str, port: int, *, is_secure: bool) -> str:
        """The `Set-Cookie` header; its name has the port, to tell two servers apart."""
        parts = [f"{_cookie_name(port)}={value}", "Path=/", "HttpOnly", "SameSite=Strict"]
        if self._is_lasting:
            parts.append(f"Max-Age={COOKIE_DAYS * 86_400}")
        if is_secure:
            parts.append("Secure")
        return "; ".join(parts)

    async def _take_link(self, digest: str) -> bool:
        expires_at = self._links.pop(digest, None)
        if expires_at is not None:
            return expires_at >= self._clock()
        return await self.book.take_link(digest)

    def _login(self, cookie: str) -> BrowserLogin | None:
        session_id, _, secret = cookie.partition(".")
        session = self.book.get(session_id)
        if session is None or not same_text(self._digest("cookie", secret), session.cookie):
            return None
        return BrowserLogin(id=session_id, session=session)

    def _digest(self, purpose: str, secret: str) -> str:
        """A digest made with the token: a new token ends all sessions."""
        text = f"{purpose}\0{secret}".encode("utf-8", "replace")
        return hmac.new(self._token, text, sha256).hexdigest()


def start_link(address: str, link_token: str) -> str:
    """The address of a start link."""
    return f"{address}/?token={link_token}"


def link_digest(link_token: str) -> str:
    """The digest under which a start link is recorded; it is random, so no salt is needed."""
    return sha256(link_token.encode("utf-8", "replace")).hexdigest()


def _cookie_name(port: int) -> str:
    return f"smart_context_{port}"


def _same(given: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(given, expected)


def same_text(given: str, expected: str) -> bool:
    """True if two secrets are equal, compared in constant time."""
    return _same(given.encode(), expected.encode())
