"""Addresses of endpoints, so that a stranger's host can't pass for a known one. Pure."""

import ipaddress
import re
import unicodedata
from urllib.parse import SplitResult, urlsplit

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PUNYCODE = "xn--"
_LONGEST_HOST = 253
_EXAMPLE = "expected an http or https address such as 'http://127.0.0.1:11434/v1'"
_NO_HOST = (
    "expected a host of plain letters, digits, '-' and '.', or an international name in its usual "
    "form"
)
_OWN_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
            *("::1/128", "fc00::/7", "fe80::/10"),
        ),
    )
)


class AddressRefused(ValueError):
    """A text that is not a web address, or has an invalid host; the message says why."""


def is_loopback(host: str) -> bool:
    """True for names and addresses of this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def plain_address(address: str) -> str:
    """The address with its host in ASCII: names of other scripts become punycode.

    An address in ASCII stays as it is.

    Raises:
        AddressRefused: If it is not an http or https address, has a user name or password, or its
            host holds characters that stand for others (a fraction slash, a full-width dot), that
            are not seen, or that no host has.
    """
    try:
        parts = urlsplit(address)
        is_complete = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError as error:
        raise AddressRefused(f"{_EXAMPLE}, found {_escaped(address)}") from error
    if "@" in parts.netloc:
        raise AddressRefused("holds a name or password before its host")
    if not is_complete or not address.isprintable() or any(map(str.isspace, address)):
        raise AddressRefused(f"{_EXAMPLE}, found {_escaped(address)}")
    host = _plain_host(parts.hostname or "")
    if parts.netloc.isascii():
        return address
    return parts._replace(netloc=_netloc(host, parts)).geturl()


def displayed_address(address: str) -> str:
    """The address as `plain_address` has it, or with escapes if that refuses it."""
    try:
        return plain_address(address)
    except AddressRefused:
        return _escaped(address)[1:-1]


def open_warning(address: str) -> str:
    """A warning for an address in another network without encryption; empty for others."""
    try:
        parts = urlsplit(plain_address(address))
    except AddressRefused:
        return ""
    if parts.scheme != "http" or _is_near(parts.hostname or ""):
        return ""
    return (
        "Warning: it is not encrypted: anyone on the way can read what is sent, any key included."
    )


def _is_near(host: str) -> bool:
    """True for this computer and for addresses and names of one's own network."""
    try:
        address = ipaddress.ip_address(host)
        return any(address in network for network in _OWN_NETWORKS)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan"))


def host_warning(address: str) -> str:
    """A warning for a host that is invalid or not written in ASCII; empty for others."""
    try:
        host = urlsplit(plain_address(address)).hostname or ""
    except AddressRefused:
        return "Its host is not valid."
    labels = [label for label in host.split(".") if label.startswith(_PUNYCODE)]
    if not labels:
        return ""
    letters = sorted({_name(letter) for letter in "".join(map(_written, labels))} - {""})
    named = f": {', '.join(letters)}" if letters else ""
    return f"Warning: its host has letters that can pass for others{named}."


def _plain_host(host: str) -> str:
    if ":" in host:
        return _checked_ip(host)
    plain = host if host.isascii() else _punycode(host)
    labels = plain.removesuffix(".").split(".")
    if len(plain) > _LONGEST_HOST or not all(map(_LABEL.fullmatch, labels)):
        raise AddressRefused(f"{_NO_HOST}, found {_escaped(host)}")
    # A name that ends in a number is an IP address in a notation that nobody recognises.
    return _checked_ip(plain) if _NUMBER.fullmatch(labels[-1]) else plain


def _punycode(host: str) -> str:
    import idna  # noqa: PLC0415 - large tables, for few hosts

    if unicodedata.normalize("NFKC", host) != host:
        raise AddressRefused(
            f"{_NO_HOST}; its host holds characters that stand for others: {_escaped(host)}"
        )
    try:
        return idna.encode(host, strict=True).decode("ascii")
    except idna.IDNAError as error:
        raise AddressRefused(f"{_NO_HOST}, found {_escaped(host)}") from error


def _written(label: str) -> str:
    """The letters that a label of punycode stands for; empty if it can't be decoded."""
    try:
        return label.removeprefix(_PUNYCODE).encode("ascii").decode("punycode")
    except UnicodeError:
        return ""


def _name(letter: str) -> str:
    return "" if letter.isascii() else unicodedata.name(letter, f"U+{ord(letter):04X}")


def _checked_ip(host: str) -> str:
    try:
        ipaddress.ip_address(host)
    except ValueError as error:
        raise AddressRefused(f"expected a complete IP address, found {_escaped(host)}") from error
    return host


def _netloc(host: str, parts: SplitResult) -> str:
    return host if parts.port is None else f"{host}:{parts.port}"


def _escaped(text: str) -> str:
    """The text in quotes, with every character that is not ASCII as an escape."""
    return ascii(text)
