"""Refuses foreign hosts and requests of other sites, whoever asks. Pure.

`Host` comes first, since a rebound DNS name makes all later checks meaningless; then `Origin` and
`Sec-Fetch-Site`. `door.py` decides after that who gets in.
"""

import ipaddress
from dataclasses import dataclass

from smart_context.base.config.access import PublicHost
from smart_context.base.errors import CommandFailed
from smart_context.web.gate.request_facts import (
    Hosts,
    RequestFacts,
    canonical_host,
    named_host,
    public_host,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a request is not let in, in words for the person in front of the browser."""

    status: int
    title: str  # what is wrong
    advice: str  # what to do
    command: str = ""  # what to run in a terminal; empty for nothing
    retry_after_s: int = 0  # when to try again; 0 for no such time
    # it may be only that another site's link led here, which strict cookies don't follow
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
    """Why a request is refused, whoever makes it; `None` if it is not.

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
    if site in {"", "none", "same-origin"}:
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
