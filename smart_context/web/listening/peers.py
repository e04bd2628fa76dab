"""Names the other end of a connection by its address."""

import ipaddress
from functools import lru_cache

NOWHERE = "an unknown address"

_HOME_PREFIX = 64


def peer_of(address: object) -> str:
    """The name under which connections from an address are counted.

    Args:
        address: The socket's other end: `(host, port, …)`.

    Returns:
        An IPv4 address, or the /64 network of an IPv6 address, which is one customer's.
    """
    try:
        return _peer_at(str(address[0]))  # type: ignore[index] # else a TypeError
    except (TypeError, IndexError, ValueError):
        return NOWHERE


@lru_cache(maxsize=256)
def _peer_at(text: str) -> str:
    host = ipaddress.ip_address(text)
    if isinstance(host, ipaddress.IPv4Address):
        return str(host)
    if host.ipv4_mapped is not None:
        return str(host.ipv4_mapped)
    return str(ipaddress.ip_network((int(host), _HOME_PREFIX), strict=False))
