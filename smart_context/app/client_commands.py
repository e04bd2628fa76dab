"""What the page asks about clients of the API: keys, how to connect, what they did, copies."""

import asyncio
import secrets
from collections.abc import Sequence
from typing import Annotated, Any

from smart_context.app.browsers import base_url, key_file
from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import branches_of, set_branches
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.chat.messages import CUT, SOURCE, STAYS, give_ids
from smart_context.gateway.activity import Activity
from smart_context.gateway.connecting import CLIENTS
from smart_context.host.access import Names, Owned
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host

_OF_CLIENT = frozenset({CUT, STAYS})

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
        commands.register("memory.copy_chat", self.copy_chat)

    async def clients(self, caller: Caller, origin: str = "") -> JsonObject:
        """List the keys, the clients that have asked, and how to connect others.

        Args:
            origin: Where the page was opened, such as `http://127.0.0.1:8377`; without it, the
                address of a server of this vault is given.
        """
        keys = await asyncio.to_thread(lambda: key_file().read().keys)
        root = self._host.config.root
        here = f"{origin.rstrip('/')}/v1" if origin else ""
        address = here or await asyncio.to_thread(base_url, root, root)
        model = self._host.config.chat.model if self._host.config.chat else "embedded/passages"
        return {
            "base_url": address,
            "keys": [name for name in sorted(keys) if await self._may_use(caller, name)],
            "clients": [
                asked for asked in self._activity.all() if await self._may_use(caller, asked["key"])
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
            ],
        }

    async def new_client_key(self, client: ClientName) -> JsonObject:
        """Make a key for a client; it can't be shown again."""
        return {"client": client, "key": await asyncio.to_thread(key_file().new, client)}

    async def revoke_client_key(self, client: ClientName, caller: Caller) -> JsonObject:
        """Take a client's key away."""
        await asyncio.to_thread(key_file().revoke, client)
        return await self.clients(caller)

    async def copy_chat(self, chat_id: str, message_id: str | None = None) -> JsonObject:
        """Copy a chat with its versions into one of your own, or only up to a message."""
        document = await self._host.store.load(check_chat_id(chat_id))
        give_ids(document)  # which depend on a message's place
        entries = _copied(document["messages"])
        if message_id is not None:
            ids = [entry.get("id") for entry in entries]
            entries = entries[: ids.index(message_id) + 1] if message_id in ids else []
        if not entries:
            raise CommandFailed(f"chat {chat_id!r} has no messages to continue from")
        copy = {name: value for name, value in document.items() if name != SOURCE}
        branches = branches_of(document) if message_id is None else []
        set_branches(copy, [{**b, "messages": _copied(b["messages"])} for b in branches])
        copy["messages"] = entries
        if SOURCE not in document and isinstance(title := document.get("title"), str) and title:
            copy["title"] = f"{title} ({'copy' if message_id is None else 'branch'})"
        copy["continued_from"] = chat_id
        made = new_chat_id()
        await self._host.store.save(made, copy, reader=secrets.token_hex(4))
        return {"chat_id": made}

    async def _may_use(self, caller: Caller, key: str) -> bool:
        return await self._host.access.may_use(caller.person, Owned("client key", key))


def _copied(entries: Sequence[Any]) -> list[JsonObject]:
    """Messages without unfinished ones, and without a client's marks."""
    return [
        {name: value for name, value in entry.items() if name not in _OF_CLIENT}
        for entry in entries
        if isinstance(entry, dict) and not entry.get("generating")
    ]
