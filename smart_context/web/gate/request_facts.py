"""The facts about a request that the gate checks, and the host that it names. Pure."""

import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlencode

from starlette.types import Scope

from smart_context.base.config.access import PublicHost
from smart_context.base.errors import CommandFailed
from smart_context.web.addresses import peer_of

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
KEY_HEADER = "x-smart-context-key"
KEY_PROTOCOL = "smart-context.key."
"""The prefix of the key in a page's WebSocket: a script can add nothing but a subprotocol."""

_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104  (compared with, not bound to)
_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::([1-9][0-9]{0,4}))?")


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The facts about a request that are checked."""

    method: str  # the HTTP method; `GET` for a WebSocket
    path: str  # the decoded path
    query: str  # the raw query
    # values by lower-case name; a name that comes more than once has them all
    headers: Mapping[str, tuple[bytes, ...]]
    port: int  # the port that the request came in on
    scheme: str  # `http`, `https`, `ws` or `wss`
    peer: str  # the name of its address, under which attempts are counted
    address: str = ""  # the address of the socket's other end

    @classmethod
    def of(cls, scope: Scope) -> "RequestFacts":
        """The facts of an ASGI scope of type `http` or `websocket`."""
        headers: dict[str, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value)
        server = scope.get("server") or ("", None)
        scheme = scope.get("scheme", "http")
        return cls(
            method=scope.get("method", "GET"),
            path=scope["path"],
            query=scope.get("query_string", b"").decode("latin-1"),
            headers={name: tuple(values) for name, values in headers.items()},
            port=server[1] or _DEFAULT_PORTS.get(scheme, 80),
            scheme=scheme,
            peer=peer_of(scope.get("client")),
            address=str((scope.get("client") or ("",))[0]),
        )

    def header(self, name: str) -> str:
        """A header's value; empty when it is missing or comes more than once."""
        values = self.headers.get(name, ())
        return values[0].decode("latin-1").strip() if len(values) == 1 else ""

    def parameter(self, name: str) -> str | None:
        """The last value of a parameter of the query; `None` when there is none."""
        if f"{name}=" not in self.query:
            return None
        return dict(parse_qsl(self.query, keep_blank_values=True)).get(name)

    @property
    def is_socket(self) -> bool:
        """True if it asks for a WebSocket."""
        return self.scheme in {"ws", "wss"}

    @property
    def is_secure(self) -> bool:
        """True if it came over TLS."""
        return self.scheme in {"https", "wss"}

    @property
    def is_read(self) -> bool:
        """True if it only reads and is no WebSocket."""
        return self.method in {"GET", "HEAD"} and not self.is_socket

    @property
    def key(self) -> str | None:
        """The key, which only our own pages know; `None` if none is given."""
        if KEY_HEADER in self.headers:
            return self.header(KEY_HEADER)
        offered = self.header("sec-websocket-protocol") if self.is_socket else ""
        names = (name.strip() for name in offered.split(","))
        keys = [name for name in names if name.startswith(KEY_PROTOCOL)]
        return keys[0].removeprefix(KEY_PROTOCOL) if keys else None


Hosts = Collection[str | PublicHost]
"""Names and addresses that a server goes by: on its own port, or with another one."""


def named_host(facts: RequestFacts, allowed_hosts: Hosts) -> str:
    """The server's own name and port that the `Host` header holds; empty for any other host.

    Args:
        allowed_hosts: The names and addresses, other than loopback, that the server goes by. A
            wildcard address stands for every IP address, which no DNS name can be rebound to.
    """
    return canonical_host(facts.header("host"), facts, allowed_hosts)


def canonical_host(text: str, facts: RequestFacts, allowed_hosts: Hosts) -> str:
    """As `named_host`, for a host from elsewhere, such as that of an `Origin`.

    The result is made from a known name and a number, so that no text of a request gets into a
    header of the answer.
    """
    match = _HOST.fullmatch(text.lower())
    if match is None:
        return ""
    name, port = match[1], int(match[2] or 0)
    usual = _DEFAULT_PORTS.get(facts.scheme)
    is_public = any(_is_public(name, port, host) for host in allowed_hosts)
    own = [host for host in allowed_hosts if isinstance(host, str)]
    known = {_bracketed(host) for host in (*LOOPBACK_NAMES, *own)}
    if is_public or (name in known and (port or usual) == facts.port):
        return f"{name}:{port}" if port else name
    if not _WILDCARDS.intersection(own) or port > 0xFFFF:  # noqa: PLR2004  (the last port)
        return ""
    # Bound to every address, perhaps behind a forwarded port: an IP address can't be rebound.
    if name == "localhost" or _is_canonical_address(name):
        return f"{name}:{port}" if port else name
    return ""


def public_host(facts: RequestFacts, allowed_hosts: Hosts) -> PublicHost | None:
    """The name with a port of its own that the request came by; `None` for our own address."""
    match = _HOST.fullmatch(facts.header("host").lower())
    if match is None:
        return None
    name, port = match[1], int(match[2] or 0)
    found = (host for host in allowed_hosts if _is_public(name, port, host))
    return next((host for host in found if isinstance(host, PublicHost)), None)


def address_of(facts: RequestFacts, allowed_hosts: Hosts) -> str:
    """The server's address as the browser uses it, without a slash at the end."""
    public = public_host(facts, allowed_hosts)
    if public is None:
        return f"{'https' if facts.is_secure else 'http'}://{named_host(facts, allowed_hosts)}"
    scheme = "https" if public.is_secure else "http"
    port = "" if public.port == _DEFAULT_PORTS[scheme] else f":{public.port}"
    return f"{scheme}://{public.name}{port}"


def _is_public(name: str, port: int, host: str | PublicHost) -> bool:
    if isinstance(host, str):
        return False
    usual = _DEFAULT_PORTS["https" if host.is_secure else "http"]
    return name == host.name and (port or usual) == host.port


def clean_url(facts: RequestFacts) -> str:
    """The request's address on this server, without the token of a start link."""
    pairs = parse_qsl(facts.query, keep_blank_values=True)
    query = urlencode([(key, value) for key, value in pairs if key != "token"])
    # More than one leading slash would name another server.
    path = "/" + quote(facts.path.lstrip("/\\"))
    return f"{path}?{query}" if query else path


@lru_cache(maxsize=64)
def _bracketed(host: str) -> str:
    """A name of this server in the form of `Host` headers."""
    try:
        address = str(ipaddress.ip_address(host)).partition("%")[0]
    except ValueError:
        return host.lower()
    return f"[{address}]" if ":" in address else address


def _is_canonical_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return _bracketed(name.strip("[]")) == name


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The reason for refusing a request, in words for the person at the browser."""

    status: int
    title: str  # the problem
    advice: str  # the next step
    command: str = ""  # a command to run in a terminal; empty for none
    for_programs: str = ""  # the next step for a program instead, which a page does not show
    retry_after_s: int = 0  # the time after which to try again; 0 if unknown
    # another site's link may have led here, with which strict cookies are not sent
    may_lack_cookie: bool = False


FOREIGN_HOST = Refusal(
    status=403,
    title="Smart Context does not answer to this address",
    advice="Open it as http://127.0.0.1 or http://localhost with the port that it was started on, "
    "or start it with --host and the address that you use.",
)
FOREIGN_SITE = Refusal(
    status=403,
    title="Another site asked for this",
    advice="Smart Context answers only to its own pages. Type its address into the address bar, "
    "or open a start link.",
)


def check_site(
    facts: RequestFacts, allowed_hosts: Hosts, *, is_open_to_sites: bool = False
) -> Refusal | None:
    """The reason for refusing a request from anyone; `None` if there is none.

    Args:
        allowed_hosts: The names and addresses, other than loopback, that the server goes by.
        is_open_to_sites: Pages of other sites may ask, too: they bring a key.
    """
    if not named_host(facts, allowed_hosts):
        return FOREIGN_HOST
    if not (is_open_to_sites or _asks_for_itself(facts, allowed_hosts)):
        return FOREIGN_SITE
    return None


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


def _asks_for_itself(facts: RequestFacts, allowed_hosts: Hosts) -> bool:
    if "origin" in facts.headers:
        return _is_our_origin(facts.header("origin"), facts, allowed_hosts)
    site = facts.header("sec-fetch-site")
    if site in {"none", "same-origin"} or "sec-fetch-site" not in facts.headers:
        return True
    return facts.is_read and facts.header("sec-fetch-mode") == "navigate"


def _is_our_origin(origin: str, facts: RequestFacts, allowed_hosts: Hosts) -> bool:
    scheme, separator, host = origin.lower().partition("://")
    if separator and any(_is_public_origin(scheme, host, public) for public in allowed_hosts):
        return True
    if public_host(facts, allowed_hosts) is not None:
        return False
    if not separator or scheme != ("https" if facts.is_secure else "http"):
        return False
    own_names = [n for n in allowed_hosts if isinstance(n, str) and not _is_wildcard(n)]
    return host == named_host(facts, allowed_hosts) or bool(canonical_host(host, facts, own_names))


def _is_public_origin(scheme: str, host: str, public: str | PublicHost) -> bool:
    if isinstance(public, str):
        return False
    wanted, usual = ("https", 443) if public.is_secure else ("http", 80)
    named = {f"{public.name}:{public.port}"} | ({public.name} if public.port == usual else set())
    return scheme == wanted and host in named


def _is_wildcard(host: str) -> bool:
    return _is_ip(host) and ipaddress.ip_address(host).is_unspecified


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
