"""The secrets of one server: the token, start links, and the cookies and keys given for them.

A start link works once. It gives a browser two secrets: a cookie, which it sends to every port
of this host, and a key, which its pages keep in the storage of their own origin and which no
other port sees. The cookie alone opens nothing that belongs to the vault.
"""

import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from smart_context.web.gate.session_record import LINK_S, BrowserSession, browser_name
from smart_context.web.gate.sessions import SessionBook

COOKIE_DAYS = 400
"""Longest that browsers keep a cookie; the record decides how long it works."""

_LOOK_EACH_S = 0.2

CLAIM_S = 60
"""Time for a page from its start link to its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserLogin:
    """A browser with the cookie of a session."""

    id: str
    session: BrowserSession


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSecrets:
    """The secrets that a browser gets for a start link."""

    cookie: str  # the value of the cookie
    code: str  # the next page exchanges it for the key, once


class GateSecrets:
    """Checks and gives out the secrets of one server.

    Args:
        token: The user's secret, which programs send as `Authorization: Bearer`; `None` or blank
            makes a random one.
        book: Keeps the sessions; `None` keeps them in memory.
        secret: Makes digests in place of the token. The servers of a team share it, so that a
            browser that one has let in is known to all of them, at any port.
        clock: The time in seconds since 1970.
    """

    def __init__(
        self,
        token: str | None = None,
        book: SessionBook | None = None,
        *,
        secret: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        chosen = (token or "").strip()
        self._token = (chosen or secrets.token_urlsafe(32)).encode()
        self._secret = secret.encode() or self._token
        self._is_shared = bool(secret)
        self._is_lasting = bool(chosen or secret)
        self._clock = clock
        self._links: dict[str, float] = {}
        self._looked_at = 0.0
        self.book = book or SessionBook(clock=clock)

    def new_link_token(self) -> str:
        """The token of a new start link; it works once, for a short time."""
        link_token = secrets.token_urlsafe(24)
        self._links[random_digest(link_token)] = self._clock() + LINK_S
        return link_token

    def accepts_bearer(self, authorization: bytes) -> bool:
        """True if the value of an `Authorization` header is our token."""
        scheme, _, credentials = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and _same(credentials.strip(), self._token)

    async def look_again(self) -> None:
        """Read changes by other servers; at most a few times a second."""
        now = self._clock()
        if self._is_shared and now - self._looked_at >= _LOOK_EACH_S:
            self._looked_at = now
            await self.book.refresh()

    async def follow_link(
        self, link_token: str, *, user_agent: str, previous: BrowserLogin | None
    ) -> LoginSecrets | None:
        """Use up a start link; `None` when it is unknown, used or too old.

        Args:
            previous: The browser's current session; it ends.
        """
        if not await self._take_link(random_digest(link_token)):
            return None
        secret, code = (secrets.token_urlsafe(32) for _ in range(2))
        session_id = await self.book.add(
            cookie=self._digest("cookie", secret),
            key=self._digest("key", self._key_for(code)),
            browser=browser_name(user_agent),
            instead_of=previous.id if previous else None,
            claim=self._digest("code", code),
        )
        return LoginSecrets(cookie=f"{session_id}.{secret}", code=code)

    async def claim_key(self, login: BrowserLogin, code: str) -> str | None:
        """The key of a browser that has just followed a start link; given out once."""
        session = login.session
        is_late = self._clock() > session.created_at + CLAIM_S
        if is_late or not same_text(self._digest("code", code), session.claim):
            return None
        return self._key_for(code) if await self.book.claim(login.id) else None

    def login_of(self, cookie_headers: Iterable[bytes], port: int) -> BrowserLogin | None:
        """The browser whose cookie is among the `Cookie` headers."""
        values = cookie_values(cookie_headers, self._cookie_name(port))
        return next((login for value in values if (login := self._login(value))), None)

    def accepts_key(self, login: BrowserLogin, key: str) -> bool:
        """True if a page sent the key of its browser's session."""
        return same_text(self._digest("key", key), login.session.key)

    def file_pass(self, login: BrowserLogin) -> str:
        """The part of a file's address that opens it, since an image can't send a header."""
        return self._digest("files", login.session.cookie)[:32]

    def cookie(self, value: str, port: int, *, is_secure: bool) -> str:
        """The `Set-Cookie` header; its name has the port, to tell two servers apart."""
        age_s = COOKIE_DAYS * 86_400 if self._is_lasting else None
        return new_cookie(self._cookie_name(port), value, age_s=age_s, is_secure=is_secure)

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
        return hmac.new(self._secret, text, sha256).hexdigest()

    def _key_for(self, code: str) -> str:
        return self._digest("page", code)

    def _cookie_name(self, port: int) -> str:
        return "smart_context_team" if self._is_shared else f"smart_context_{port}"


def new_cookie(
    name: str,
    value: str,
    *,
    age_s: int | None,
    is_secure: bool,
    path: str = "/",
    same_site: str = "Strict",
) -> str:
    """The value of a `Set-Cookie` header.

    Args:
        age_s: How long the browser keeps it; `None`: until the browser is closed; 0 removes it.
        is_secure: The browser sends it over TLS only.
        path: Where the browser sends it.
        same_site: `Lax`: it is also sent where another site's link leads here.
    """
    parts = [f"{name}={value}", f"Path={path}", "HttpOnly", f"SameSite={same_site}"]
    if age_s is not None:
        parts.append(f"Max-Age={age_s}")
    if is_secure:
        parts.append("Secure")
    return "; ".join(parts)


def cookie_values(cookie_headers: Iterable[bytes], name: str) -> Iterator[str]:
    """The values that `Cookie` headers have under a name: a browser may send several."""
    wanted = name.encode()
    for line in cookie_headers:
        for pair in line.split(b";"):
            found, _, value = pair.strip().partition(b"=")
            if found == wanted:
                yield value.decode("latin-1")


def start_link(address: str, link_token: str) -> str:
    """The address of a start link."""
    return f"{address}/?token={link_token}"


def random_digest(secret: str) -> str:
    """The digest under which a start link or a key is kept; both are random: no salt is needed."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _same(given: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(given, expected)


def same_text(given: str, expected: str) -> bool:
    """True if two secrets are equal, compared in constant time."""
    return _same(given.encode(), expected.encode())
