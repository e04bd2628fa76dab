"""Browsers and clients, for the terminal and the page: sessions, start links, keys and address."""

import asyncio
import importlib.util
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from smart_context.app.composition import open_storage
from smart_context.base.config import read_user_config
from smart_context.base.config.access import command_line_person
from smart_context.base.config.storage import may_name_storage
from smart_context.base.environment import environment, user_folder
from smart_context.base.errors import CommandFailed
from smart_context.base.installed import how_to_add
from smart_context.base.shared import SharedValue
from smart_context.base.text.names import shown
from smart_context.base.values import JsonObject, PersonId
from smart_context.gateway.connecting import CLIENTS, DEFAULT_BASE_URL, Activity
from smart_context.host.access import NamesOwned, OwnedName
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host
from smart_context.storage.ports import SharedRecords
from smart_context.web.gate.access import random_digest, start_link
from smart_context.web.gate.client_keys import (
    RECORD_OF_KEYS,
    ClientKeys,
    KeyFile,
    is_of,
    short_name,
)
from smart_context.web.gate.door import OPEN_PATH
from smart_context.web.gate.session_record import (
    LINK_S,
    RECORD_OF_SESSIONS,
    BrowserSession,
    SessionFile,
    SessionRecord,
    StartLink,
)
from smart_context.web.gate.session_record import session_file as sessions_in

_ANSWER_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLink:
    """A new start link."""

    address: str
    vault: str  # the folder of the vault that it opens


def session_file() -> SessionFile:
    """The record of sessions."""
    return sessions_in(user_folder())


def live_sessions() -> dict[str, BrowserSession]:
    """The valid sessions, last used first."""
    file = known_sessions()
    gone = _gone_servers(file.read()[1])
    _, record = file.update(lambda now: now.pruned(time.time()).without_servers(gone))
    return dict(record.sessions)


def end_sessions(ids: Iterable[str] | None) -> int:
    """End sessions, within seconds in running servers too; returns their number.

    Args:
        ids: The sessions; `None` ends all.

    Raises:
        CommandFailed: If one does not exist; then none is ended.
    """
    ended = 0

    def change(record: SessionRecord) -> SessionRecord:
        nonlocal ended
        chosen = frozenset(record.sessions if ids is None else ids)
        if unknown := sorted(chosen - record.sessions.keys()):
            raise CommandFailed(
                f"session {unknown[0]!r} not found; see: smart-context sessions list"
            )
        ended = len(chosen)
        return record.without_sessions(chosen)

    known_sessions().update(change)
    return ended


def new_links(vault: Path | None) -> list[NewLink]:
    """One start link for each running server, or for those of one vault.

    Raises:
        CommandFailed: If no such server runs.
    """
    file = session_file()
    gone = _gone_servers(file.read()[1])
    made: list[NewLink] = []

    def change(record: SessionRecord) -> SessionRecord:
        made.clear()
        record = record.without_servers(gone)
        for key, server in record.servers.items():
            if vault is None or Path(server.vault) == vault:
                link_token = secrets.token_urlsafe(24)
                link = StartLink(server=key, expires_at=int(time.time()) + LINK_S)
                record = replace(record, links={**record.links, random_digest(link_token): link})
                address = start_link(server.address, link_token)
                made.append(NewLink(address=address, vault=server.vault))
        return record

    file.update(change)
    if not made:
        which = f"serves {vault}" if vault else "runs"
        raise CommandFailed(f"no server {which}; start one with: smart-context serve")
    return made


def _gone_servers(record: SessionRecord) -> frozenset[str]:
    """Killed servers that are still in the record."""
    return frozenset(key for key, server in record.servers.items() if not _answers(server.address))


def _answers(address: str) -> bool:
    place = urlsplit(address)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=_ANSWER_S)
    try:
        connection.request("GET", OPEN_PATH)
        return connection.getresponse().status == 200  # noqa: PLR2004  (OK)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def key_file(records: SharedRecords | None = None) -> KeyFile:
    """The keys of this user, or of the team that shares records."""
    shared = records.of("client keys", RECORD_OF_KEYS, ClientKeys()) if records else None
    return KeyFile(user_folder(), shared=shared)


def records_here() -> SharedRecords | None:
    """The records of a team, if the settings of this folder or of the user name its database."""
    here = Path.cwd()
    return open_storage(here).records if may_name_storage(here) else None


def known_sessions() -> SharedValue[SessionRecord]:
    """The record of sessions: the team's, or this user's."""
    records = records_here()
    if records is None:
        return session_file()
    return records.of("sessions", RECORD_OF_SESSIONS, SessionRecord())


def person_of_this_terminal() -> PersonId:
    """The person whose keys the command line creates and lists.

    Raises:
        ConfigInvalid: If the user's settings have faults.
        CommandFailed: If `SMART_CONTEXT_USER` names nobody.
    """
    return command_line_person(environment(), read_user_config(user_folder()).access)


def base_url(vault: Path | None, here: Path) -> str:
    """The base URL of a vault's running server; the usual one if there is no such server.

    Args:
        vault: The vault that it serves; `None` for any.
        here: The vault to prefer if servers of several run and `vault` is `None`.

    Raises:
        CommandFailed: If several run, none of them for `here`.
    """
    record = session_file().read()[1]
    running = record.without_servers(_gone_servers(record)).servers.values()
    meant = [server for server in running if vault is None or Path(server.vault) == vault]
    if len({server.vault for server in meant}) > 1:
        vaults = ", ".join(sorted({shown(server.vault) for server in meant}))
        meant = [server for server in meant if Path(server.vault) == here]
        if not meant:
            raise CommandFailed(f"several servers run; name one with --vault: {vaults}")
    return f"{meant[-1].address}/v1" if meant else DEFAULT_BASE_URL


ClientName = Annotated[str, NamesOwned(lambda name: [OwnedName("client key", name)])]
"""The name of a client's key."""


@dataclass(eq=False)
class ClientCommands:
    """The page's commands about clients of the API."""

    host: Host
    activity: Activity  # the requests of clients

    def register(self) -> None:
        """Register the commands."""
        commands = self.host.commands
        commands.register("system.clients", self.clients)
        commands.register("system.new_client_key", self.new_client_key)
        commands.register("system.revoke_client_key", self.revoke_client_key)

    async def clients(self, caller: Caller, origin: str = "") -> JsonObject:
        """List the keys, the clients that have asked, and how to connect others.

        Args:
            origin: The origin of the page, such as `http://127.0.0.1:8377`; without it, the
                address of a server of this vault is given.
        """
        keys = await asyncio.to_thread(lambda: self._keys().read().of(caller.person))
        root = self.host.config.root
        here = f"{origin.rstrip('/')}/v1" if origin else ""
        address = here or await asyncio.to_thread(base_url, root, root)
        model = self.host.config.chat.model if self.host.config.chat else "embedded/passages"
        serves_agents = importlib.util.find_spec("mcp") is not None
        return {
            "base_url": address,
            "keys": [name for name in sorted(keys) if await self._may_use(caller, name)],
            "clients": [
                {**asked, "key": short_name(asked["key"])}
                for asked in self.activity.all()
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
            "serves_agents": serves_agents,
            "add_agents": "" if serves_agents else await asyncio.to_thread(how_to_add, "mcp"),
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
        return key_file(self.host.services.storage.records)

    async def _may_use(self, caller: Caller, key: str) -> bool:
        return await self.host.access.may_use(caller.person, OwnedName("client key", key))
