"""Who may come in: the token, the start links and the cookie that a link sets. Pure but for chance.

With a token of the user's, its start link works as often as it is opened, and the cookie goes
on working after a restart. Without one, everything is made anew at each start, and each link
works once: a link is seen by the process list and the browser's history, a cookie is not.
"""

import hmac
import secrets
from collections.abc import Iterable
from hashlib import sha256

COOKIE_DAYS = 30
"""How long a browser keeps the cookie of a token that the user chose."""


class Access:
    """The secrets of one server.

    Args:
        token: What programs send as `Authorization: Bearer`.
        is_lasting: The user chose the token, so it is the same at the next start.
    """

    def __init__(self, token: str, *, is_lasting: bool) -> None:
        self._token = token.encode()
        self._is_lasting = is_lasting
        self._unused_links: set[str] = set()

    @classmethod
    def of(cls, token: str | None) -> "Access":
        """Access by the user's token, or by a random one if there is none or it is blank."""
        if token and token.strip():
            return cls(token.strip(), is_lasting=True)
        return cls(secrets.token_urlsafe(32), is_lasting=False)

    def new_link_token(self) -> str:
        """What a start link carries: the user's token, or a token that works once."""
        if self._is_lasting:
            return self._token.decode()
        link_token = secrets.token_urlsafe(24)
        self._unused_links.add(link_token)
        return link_token

    def redeem(self, link_token: str) -> bool:
        """Whether a start link lets in; one that works once is used up by this."""
        if self._is_lasting:
            return _same(link_token.encode("utf-8", "replace"), self._token)
        found = [known for known in self._unused_links if _same_text(known, link_token)]
        self._unused_links.difference_update(found)
        return bool(found)

    def accepts_bearer(self, authorization: bytes) -> bool:
        """Whether the value of an `Authorization` header is our token."""
        scheme, _, credentials = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and _same(credentials.strip(), self._token)

    def accepts_cookie(self, headers: Iterable[bytes], port: int) -> bool:
        """Whether one of the `Cookie` headers holds the cookie that a link sets."""
        name = _cookie_name(port).encode()
        expected = self._cookie_value().encode()
        pairs = (pair.strip().partition(b"=") for line in headers for pair in line.split(b";"))
        return any(key == name and _same(value, expected) for key, _, value in pairs)

    def cookie(self, port: int, *, is_secure: bool) -> str:
        """The `Set-Cookie` header; the port in its name keeps two vaults' servers apart."""
        parts = [f"{_cookie_name(port)}={self._cookie_value()}", "Path=/", "HttpOnly"]
        parts.append("SameSite=Strict")
        if self._is_lasting:
            parts.append(f"Max-Age={COOKIE_DAYS * 86_400}")
        if is_secure:
            parts.append("Secure")
        return "; ".join(parts)

    def _cookie_value(self) -> str:
        return hmac.new(self._token, b"smart-context cookie", sha256).hexdigest()


def _cookie_name(port: int) -> str:
    return f"smart_context_{port}"


def _same(given: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(given, expected)


def _same_text(given: str, expected: str) -> bool:
    return _same(given.encode("utf-8", "replace"), expected.encode("utf-8", "replace"))
