"""Lets in whom a proxy names: `[access] mode = "proxy"`.

The header counts from the proxy's own address and from nowhere else. It must be there once: a
second one could come from the browser, through a proxy that adds its own.
"""

import ipaddress

from smart_context.base.config.access import AccessSettings, person_named
from smart_context.web.gate.door import Admitted, ClientDoor, Verdict
from smart_context.web.gate.request_facts import RequestFacts
from smart_context.web.gate.security import Refusal

NOT_NAMED = Refusal(
    status=401,
    title="The proxy has not said who you are",
    advice="Open Smart Context at your company's address, where you log in. For whoever runs it: "
    "the header that `[access]` names must come once, from an address that it trusts.",
)


class ProxyDoor:
    """Decides who is let in.

    Args:
        settings: The header, and where the proxy is.
        clients: Decides on what no browser asks.
    """

    def __init__(self, settings: AccessSettings, clients: ClientDoor) -> None:
        self._settings = settings
        self._clients = clients
        self._header = settings.header.lower()

    async def admit(self, facts: RequestFacts) -> Verdict:
        """What to do with a request."""
        if (verdict := await self._clients.admit(facts)) is not None:
            return verdict
        values = facts.headers.get(self._header, ())
        if len(values) != 1 or not self._is_proxy(facts.address):
            return NOT_NAMED
        try:
            name = values[0].decode()
        except UnicodeDecodeError:
            return NOT_NAMED
        person = person_named(name, self._settings.owner)
        return NOT_NAMED if person is None else Admitted(person=person, name=name)

    async def ended(self, sessions: frozenset[str]) -> frozenset[str]:  # noqa: ARG002 - none here
        """The sessions that are over: the proxy has them, not we."""
        return frozenset()

    def _is_proxy(self, address: str) -> bool:
        try:
            peer = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
        return any((mapped or peer) in network for network in self._settings.trusted)
