"""Which requests are let in: the host that they name, the site that asks, the token. Pure.

In this order (DESIGN, Security): `Host` first, since a rebound DNS name makes every later
check meaningless; then `Origin` and `Sec-Fetch-Site`; then the token. `gate.py` applies it.
"""

import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode

from starlette.types import Scope

from smart_context.errors import CommandFailed
from smart_context.web.access import Access

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
OPEN_PATH = "/healthz"
"""The one path that needs no token."""

_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104  (compared with, not bound to)
_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_PORT_SUFFIX = re.compile(r":\d{1,5}\Z")


@dataclass(frozen=True, slots=True)
class Visit:
    """What the checks need to know of a request.

    Attributes:
        method: The HTTP method; `GET` for a WebSocket.
        path: The decoded path.
        query: The raw query.
        headers: Values by lower-case name; a name that comes more than once has them all.
        port: The port that the request came in on.
        scheme: `http`, `https`, `ws` or `wss`.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, tuple[bytes, ...]]
    port: int
    scheme: str

    @classmethod
    def of(cls, scope: Scope) -> "Visit":
        """The visit of an ASGI scope of type `http` or `websocket`."""
        headers: dict[str, tuple[bytes, ...]] = {}
        for raw_name, value in scope["headers"]:
            name = raw_name.decode("latin-1").lower()
            headers[name] = (*headers.get(name, ()), value)
        server = scope.get("server") or ("", None)
        scheme = scope.get("scheme", "http")
        return cls(
            method=scope.get("method", "GET"),
            path=scope["path"],
            query=scope.get("query_string", b"").decode("latin-1"),
            headers=headers,
            port=server[1] or _DEFAULT_PORTS.get(scheme, 80),
            scheme=scheme,
        )

    def header(self, name: str) -> str:
        """A header's value; empty when it is missing or comes more than once."""
        values = self.headers.get(name, ())
        return values[0].decode("latin-1").strip() if len(values) == 1 else ""

    @property
    def is_socket(self) -> bool:
        """It asks for a WebSocket."""
        return self.scheme in {"ws", "wss"}

    @property
    def is_secure(self) -> bool:
        """It came over TLS."""
        return self.scheme in {"https", "wss"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request is not let in, in words for the person in front of the browser."""

    status: int
    title: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """Go on at another address of ours, with a cookie if one is set."""

    location: str
    cookie: str | None = None


_FOREIGN_HOST = Refusal(
    status=403,
    title="Smart Context does not answer to this address",
    advice="Open it as http://127.0.0.1 or http://localhost with the port that it was started on, "
    "or start it with --host and the address that you use.",
)
_FOREIGN_SITE = Refusal(
    status=403,
    title="Another site asked for this",
    advice="Smart Context answers only to its own pages. Open the link that it printed when it "
    "was started.",
)
_NO_TOKEN = Refusal(
    status=401,
    title="This browser has not been let in yet",
    advice="Open the start link that smart-context printed in the terminal. A program sends the "
    "token as `Authorization: Bearer`; choose one with --token or SMART_CONTEXT_TOKEN.",
)
_USED_LINK = Refusal(
    status=401,
    title="This start link does not work any more",
    advice="A start link works once, for one browser. Stop smart-context in the terminal and start "
    "it again for a new one, or choose a token that lasts with --token.",
)
_WRONG_TOKEN = Refusal(
    status=401,
    title="The token is not the right one",
    advice="Send the token that smart-context was started with as `Authorization: Bearer`.",
)


def judge(
    visit: Visit, access: Access, allowed_hosts: Collection[str]
) -> Refusal | Redirect | None:
    """What to do with a visit; `None` lets it in.

    Args:
        visit: The request.
        access: The secrets; a start link that works once is used up here.
        allowed_hosts: The names and addresses, beside loopback, that the server goes by. A
            wildcard address stands for every IP address, which no DNS name can be rebound to.
    """
    if not host_is_allowed(visit.header("host"), visit, allowed_hosts):
        return _FOREIGN_HOST
    if not _asks_for_itself(visit, allowed_hosts):
        return _FOREIGN_SITE
    if visit.path == OPEN_PATH and not visit.is_socket:
        return None
    return _check_token(visit, access)


def check_exposure(host: str, token: str | None) -> None:
    """Refuse an address that others can reach, unless the user has set a token.

    Raises:
        CommandFailed: If `host` is not loopback and there is no token.
    """
    if (token and token.strip()) or _is_loopback(host):
        return
    raise CommandFailed(
        f"--host {host} lets other machines reach this vault, so it needs a token of your own: "
        "add --token, or set SMART_CONTEXT_TOKEN. Without --host it stays on this machine."
    )


def host_is_allowed(host: str, visit: Visit, allowed_hosts: Collection[str]) -> bool:
    """Whether a `Host` header names this server, by an allowed name and its port."""
    host = host.lower()
    if _is_named(host, visit, allowed_hosts):
        return True
    if not _WILDCARDS.intersection(allowed_hosts):
        return False
    # Bound to every address, perhaps behind a forwarded port: an IP address can't be rebound.
    name = _PORT_SUFFIX.sub("", host)
    return name == "localhost" or _is_ip(name.removeprefix("[").removesuffix("]"))


def _is_named(host: str, visit: Visit, allowed_hosts: Collection[str]) -> bool:
    for name in (*LOOPBACK_NAMES, *allowed_hosts):
        bare = f"[{name}]" if ":" in name else name.lower()
        if host == f"{bare}:{visit.port}":
            return True
        if host == bare and visit.port == _DEFAULT_PORTS.get(visit.scheme):
            return True
    return False


def _asks_for_itself(visit: Visit, allowed_hosts: Collection[str]) -> bool:
    if "origin" in visit.headers:
        return _is_our_origin(visit.header("origin"), visit, allowed_hosts)
    site = visit.header("sec-fetch-site")
    if site in {"", "none", "same-origin"}:
        return True
    is_read = visit.method in {"GET", "HEAD"} and not visit.is_socket
    return is_read and visit.header("sec-fetch-mode") == "navigate"


def _is_our_origin(origin: str, visit: Visit, allowed_hosts: Collection[str]) -> bool:
    scheme, separator, host = origin.lower().partition("://")
    if not separator or scheme != ("https" if visit.is_secure else "http"):
        return False
    return host == visit.header("host").lower() or _is_named(host, visit, allowed_hosts)


def _check_token(visit: Visit, access: Access) -> Refusal | Redirect | None:
    knows_browser = access.accepts_cookie(visit.headers.get("cookie", ()), visit.port)
    link_token = _link_token(visit)
    if link_token is not None:
        return _follow_link(visit, access, link_token, knows_browser=knows_browser)
    if "authorization" in visit.headers:
        authorization = visit.header("authorization").encode("latin-1")
        return None if access.accepts_bearer(authorization) else _WRONG_TOKEN
    return None if knows_browser else _NO_TOKEN


def _follow_link(
    visit: Visit, access: Access, link_token: str, *, knows_browser: bool
) -> Refusal | Redirect:
    # A browser may fetch a link that nobody opens; that must not use it up.
    if "prefetch" not in visit.header("sec-purpose") and access.redeem(link_token):
        cookie = access.cookie(visit.port, is_secure=visit.is_secure)
        return Redirect(location=clean_url(visit), cookie=cookie)
    return Redirect(location=clean_url(visit)) if knows_browser else _USED_LINK


def _link_token(visit: Visit) -> str | None:
    if visit.method != "GET" or visit.is_socket or "token=" not in visit.query:
        return None
    return dict(parse_qsl(visit.query, keep_blank_values=True)).get("token")


def clean_url(visit: Visit) -> str:
    """The visit's address on this server, without the token."""
    pairs = parse_qsl(visit.query, keep_blank_values=True)
    query = urlencode([(key, value) for key, value in pairs if key != "token"])
    # More than one leading slash would name another server.
    path = "/" + quote(visit.path.lstrip("/\\"))
    return f"{path}?{query}" if query else path


def security_headers(path: str, host: str, *, is_secure: bool = False) -> dict[str, str]:
    """The headers that every response has: nothing from elsewhere, nothing inline.

    Args:
        path: The path of the request; pages of panels may be framed by our own pages.
        host: The checked `Host`, for which sockets may be opened; empty for none.
        is_secure: The request came over TLS.
    """
    is_panel = path.startswith("/panels/")
    ancestors = "'self'" if is_panel else "'none'"
    sockets = f" {'wss' if is_secure else 'ws'}://{host}" if host else ""
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"font-src 'self'; connect-src 'self'{sockets}; frame-src 'self'; manifest-src 'self'; "
        f"base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN" if is_panel else "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Cache-Control": "no-cache",
    }


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    return _is_ip(host) and ipaddress.ip_address(host).is_loopback


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
