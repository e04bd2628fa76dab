"""The settings that connect each client to the models, and to the vault as tools."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import tomli
from cachetools import LRUCache
from pydantic import TypeAdapter

from smart_context.base.installed import quoted, settings_in_shell, shell_in_use
from smart_context.base.resources import text_beside
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject

DEFAULT_BASE_URL = "http://127.0.0.1:8377/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsSetup:
    """The settings that give an agent the vault as tools, by MCP."""

    where: str  # the file or place for the lines
    local: str  # the settings that start `smart-context mcp`; `{vault}` is to be filled in
    served: str  # the settings for a running server; `{url}` and `{key}` are to be filled in

    def local_lines(self, vault: str) -> str:
        """The settings for a vault's folder."""
        is_json = self.local.startswith("{")
        word = json.dumps(vault) if is_json else quoted(vault, shell_in_use())
        return self.local.replace("{vault}", word)

    def served_lines(self, base_url: str, key: str) -> str:
        """The settings for the server whose models have this base URL."""
        url = f"{base_url.removesuffix('/v1')}/mcp"
        return self.served.replace("{url}", url).replace("{key}", key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSetup:
    """The settings that connect one client."""

    name: str  # its usual name
    where: str = ""  # the file or place for the lines; empty if its models can't be chosen
    lines: str = ""  # the settings; `{base_url}`, `{key}` and `{model}` are to be filled in
    # a description of how the client tells its chats apart
    chat_id: str = "It sends no id; its chats are recognised by the answers that they hold."
    tools: ToolsSetup | None = None  # how it gets the vault as tools; `None` if it takes no tools

    def filled(self, base_url: str, key: str, model: str) -> str:
        """The settings, ready to be copied."""
        filled = self.lines
        for name, value in (("base_url", base_url), ("key", key), ("model", model)):
            filled = filled.replace(f"{{{name}}}", value)
        return filled


CLIENTS: Mapping[str, ClientSetup] = TypeAdapter(dict[str, ClientSetup]).validate_python(
    tomli.loads(settings_in_shell(text_beside(__file__, "clients.toml"), shell_in_use()))
)
"""The clients, by their names for `smart-context connect`."""


MAX_CLIENTS = 256


@dataclass(slots=True, kw_only=True)
class ClientActivity:
    """The requests of one client with one key."""

    key: str  # the name of its key
    client: str  # the program, according to its headers
    last_at: str = ""  # the time of its last request, ISO 8601 in UTC
    requests: int = 0  # the number of its requests
    error: str = ""  # why its last request failed; empty if it succeeded
    chat_id: str = ""  # the chat of its last request; empty if it had none


class Activity:
    """The clients of a gateway."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, str], ClientActivity] = LRUCache(MAX_CLIENTS)

    def asked(self, key: str, client: str, chat_id: str) -> ClientActivity:
        """Count a request; the caller adds its outcome."""
        known = self._known.get((key, client)) or ClientActivity(key=key, client=client)
        known.last_at = utc_stamp()
        known.requests += 1
        known.error, known.chat_id = "", chat_id
        self._known[key, client] = known
        return known

    def all(self) -> list[JsonObject]:
        """All clients, the most recently active first."""
        known = sorted(self._known.values(), key=lambda client: client.last_at, reverse=True)
        return [asdict(client) for client in known]
