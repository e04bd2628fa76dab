"""What the page asks about clients of the API: keys, how to connect, what they did."""

import asyncio
import importlib.util
from typing import Annotated

from smart_context.app.browsers import base_url, key_file
from smart_context.base.values import JsonObject
from smart_context.gateway.activity import Activity
from smart_context.gateway.connecting import CLIENTS
from smart_context.host.access import Names, Owned
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host
from smart_context.web.gate.client_keys import KeyFile, is_of, short_name

ClientName = Annotated[str, Names(lambda name: [Owned("client key", name)])]
"""The name of a client's key."""


class ClientCommands:
    """What the page asks about clients of the API.

    Args:
        activity: What clients have done.
    """

    def __init__(self, host: Host, activity: Activity) -> None:
        self._host = host
        self._activity = activity

    def register(self) -> None:
        """Make the commands callable."""
        commands = self._host.commands
        commands.register("system.clients", self.clients)
        commands.register("system.new_client_key", self.new_client_key)
        commands.register("system.revoke_client_key", self.revoke_client_key)

    async def clients(self, caller: Caller, origin: str = "") -> JsonObject:
        """List the keys, the clients that have asked, and how to connect others.

        Args:
            origin: Where the page was opened, such as `http://127.0.0.1:8377`; without it, the
                address of a server of this vault is given.
        """
        keys = await asyncio.to_thread(lambda: self._keys().read().of(caller.person))
        root = self._host.config.root
        here = f"{origin.rstrip('/')}/v1" if origin else ""
        address = here or await asyncio.to_thread(base_url, root, root)
        model = self._host.config.chat.model if self._host.config.chat else "embedded/passages"
        return {
            "base_url": address,
            "keys": [name for name in sorted(keys) if await self._may_use(caller, name)],
            "clients": [
                {**asked, "key": short_name(asked["key"])}
                for asked in self._activity.all()
                if is_of(asked["key"], caller.person) and await self._may_use(caller, asked["key"])
            ],
            "setups": [
                {
                    "client": client,
                    "name": setup.name,
                    "where": setup.where.replace("{key}", "KEY"),
                    "lines": setup.filled(address, "KEY", model),
                    "chat_id": setup.chat_id,
                }
                for client, setup in CLIENTS.items()
                if setup.lines
            ],
            "agents": [
                {
                    "client": client,
                    "name": setup.name,
                    "where": setup.tools.where,
                    "lines": setup.tools.served_lines(address, "KEY"),
                }
                for client, setup in CLIENTS.items()
                if setup.tools and setup.tools.served
            ],
            "serves_agents": importlib.util.find_spec("mcp") is not None,
        }

    async def new_client_key(self, client: ClientName, caller: Caller) -> JsonObject:
        """Make a key for a client; it can't be shown again."""
        made = await asyncio.to_thread(self._keys().new, client, caller.person)
        return {"client": client, "key": made}

    async def revoke_client_key(self, client: ClientName, caller: Caller) -> JsonObject:
        """Take a client's key away."""
        await asyncio.to_thread(self._keys().revoke, client, caller.person)
        return await self.clients(caller)

    def _keys(self) -> KeyFile:
        return key_file(self._host.services.storage.records)

    async def _may_use(self, caller: Caller, key: str) -> bool:
        return await self._host.access.may_use(caller.person, Owned("client key", key))
