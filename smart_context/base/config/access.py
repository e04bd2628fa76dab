"""`[access]`: the way a server identifies people, and the host names that it answers to."""

import hashlib
import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from smart_context.base.config.addresses import AddressRefused, is_loopback, plain_address
from smart_context.base.config.document import Table, found
from smart_context.base.errors import CommandFailed
from smart_context.base.values import OWNER, PersonId

Mode = Literal["token", "proxy", "oidc"]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
T = TypeVar("T")

_KEYS = {
    "token": (),
    "proxy": ("header", "trusted"),
    "oidc": ("issuer", "client_id", "client_secret_env"),
}
_EVERY_KEY = ("mode", "hosts", "owner", *(key for keys in _KEYS.values() for key in keys))
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HOST = re.compile(
    r"(?:(?P<scheme>https?)://)?"
    r"(?P<name>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253})(?::(?P<port>[1-9][0-9]{0,4}))?"
)
_SENT_BY_ANYBODY = re.compile(
    r"accept(-.*)?|authorization|cache-control|connection|content-.*|cookie|host|origin|pragma|"
    r"referer|sec-.*|transfer-encoding|upgrade(-.*)?|user-agent|x-smart-context-.*",
    re.IGNORECASE,
)
USER_VARIABLE = "SMART_CONTEXT_USER"

_MOST = 100
_LAST_PORT = 0xFFFF


class PublicHost(NamedTuple):
    """A name and port under which browsers reach a server."""

    name: str  # in lower case; an IPv6 address in brackets
    port: int  # the port in the browser's address
    is_secure: bool  # the browser speaks TLS, to a proxy before the server


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """The way a server identifies the person of a request."""

    # `token`: one person, by start links and a token. `proxy`: a proxy names each person. `oidc`:
    # people log in at an OpenID provider.
    mode: Mode = "token"
    hosts: tuple[PublicHost, ...] = ()  # the server's names besides its own address
    owner: str = ""  # the owner of this installation, as the proxy or provider names them
    header: str = ""  # the header in which the proxy names the person
    trusted: tuple[Network, ...] = ()  # the proxy's addresses; from others, the header is ignored
    issuer: str = ""  # the provider's address
    client_id: str = ""  # the server's name at the provider
    client_secret_env: str = ""  # the variable that holds its secret there; empty for none

    @property
    def has_people(self) -> bool:
        """True if several people use the vault."""
        return self.mode != "token"

    @property
    def digest(self) -> str:
        """A digest of the settings."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def from_this_machine(self) -> "AccessSettings":
        """The part that may be in force before the user trusts the vault that sets it."""
        if self.mode == "proxy":
            return replace(
                self,
                owner="",
                hosts=(),
                trusted=tuple(network for network in self.trusted if network.is_loopback),
            )
        return AccessSettings()


BY_TOKEN = AccessSettings()


def read_access(access: Table) -> AccessSettings:
    """The settings in `[access]`; the default when it is missing."""
    access.allow(_EVERY_KEY)
    mode = access.text("mode", "token")
    if mode not in _KEYS:
        access.fault("mode", f'expected "token", "proxy" or "oidc", found {found(mode)}')
        return BY_TOKEN
    for other, keys in _KEYS.items():
        for key in keys:
            if key in access and other != mode:
                access.fault(key, f'belongs to mode = "{other}", but the mode is "{mode}"')
            elif key not in access and other == mode and key != "client_secret_env":
                access.fault(key, f'missing; mode = "{mode}" needs it')
    if "owner" in access and mode == "token":
        access.fault("owner", 'belongs to mode = "proxy" or "oidc", but the mode is "token"')
    return AccessSettings(
        mode=mode,  # type: ignore[arg-type] # checked above
        hosts=_listed(access, "hosts", _host, 'a list of "name:port"'),
        owner=access.text("owner", max_chars=256),
        header=_header(access),
        trusted=_trusted(access),
        issuer=_issuer(access),
        client_id=access.text("client_id", max_chars=500),
        client_secret_env=_variable(access),
    )


def _header(access: Table) -> str:
    name = access.text("header", max_chars=100)
    if name and not _HEADER.fullmatch(name):
        access.fault("header", f"expected a header's name, found {found(name)}")
    elif name and _SENT_BY_ANYBODY.fullmatch(name):
        access.fault("header", f"every program sends {name}; choose one that only the proxy sets")
    return name


def _trusted(access: Table) -> tuple[Network, ...]:
    if access.values.get("trusted") == []:
        access.fault("trusted", "expected the proxy's address, found an empty list")
    return _listed(access, "trusted", _network, "a list of addresses and networks")


def _variable(access: Table) -> str:
    name = access.text("client_secret_env")
    if name and not _VARIABLE.fullmatch(name):
        access.fault(
            "client_secret_env",
            "expected the name of an environment variable, such as OIDC_SECRET; the secret itself "
            "belongs into that variable",
        )
        return ""
    return name


def _issuer(access: Table) -> str:
    text = access.text("issuer")
    if not text:
        return ""
    try:
        address = plain_address(text)
    except AddressRefused as refused:
        access.fault("issuer", str(refused))
        return ""
    parts = urlsplit(address)
    if parts.query or parts.fragment:
        access.fault("issuer", "expected an address without '?' and '#'")
    elif parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        access.fault("issuer", "expected an https address; http is for providers on this machine")
    return address


def _host(text: str) -> PublicHost | None:
    match = _HOST.fullmatch(text)
    if match is None or not match["port"] or int(match["port"]) > _LAST_PORT:
        return None
    port = int(match["port"])
    is_secure = match["scheme"] == "https" if match["scheme"] else port == 443  # noqa: PLR2004
    return PublicHost(match["name"].lower(), port, is_secure)


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _listed(
    access: Table, name: str, read: Callable[[str], T | None], wanted: str
) -> tuple[T, ...]:
    """The values of a list; each that can't be read is a fault."""
    values = access.values.get(name, [])
    if not isinstance(values, list):
        access.fault(name, f"expected {wanted}, found {found(values)}")
        return ()
    if len(values) > _MOST:
        access.fault(name, f"expected at most {_MOST}, found {len(values):,}")
        return ()
    read_values: Sequence[tuple[object, T | None]] = [
        (value, read(value) if isinstance(value, str) else None) for value in values
    ]
    for value, one in read_values:
        if one is None:
            access.fault(name, f"expected {wanted}, found {found(value)}")
    return tuple(one for _, one in read_values if one is not None)


MOST_NAME = 256
"""Most characters of a person's name."""


def person_named(name: str, owner: str = "") -> PersonId | None:
    """The person of a name that a proxy or a provider gives; `None` if it can't be one.

    Args:
        name: Exactly as it was given: case and spaces count.
        owner: The name of the installation's owner. Only that name gives `OWNER`.
    """
    if not name.strip() or len(name) > MOST_NAME or not name.isprintable():
        return None
    if owner and name == owner:
        return OWNER
    return None if name == OWNER else PersonId(name)


def command_line_person(environ: Mapping[str, str], access: AccessSettings) -> PersonId:
    """The person for whom the command line works: `SMART_CONTEXT_USER`, else the owner.

    Raises:
        CommandFailed: The variable holds no name that a person can have.
    """
    name = environ.get(USER_VARIABLE) or OWNER
    person = OWNER if name == OWNER else person_named(name, access.owner)
    if person is None:
        raise CommandFailed(
            f"{USER_VARIABLE} can't name a person: expected 1 to {MOST_NAME} visible characters"
        )
    return person
