"""The list of all tools: commands of the host that agents can call over MCP."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smart_context.base.errors import UnknownCommand
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Caller, CommandHandler
from smart_context.host.host import Host
from smart_context.mcp_server.chat_tools import ChatTools
from smart_context.mcp_server.note_tools import NoteTools
from smart_context.packing.role_sources import RoleSources

PREFIX = "tools."
"""The prefix of the tools' names as commands."""

_ROWS = {
    "list_chats": "chats",
    "search_notes": "notes",
    "links": "links",
    **dict.fromkeys(("read_chat", "explain", "what_if", "receipt"), "messages"),
    **dict.fromkeys(("read_note", "build_context", "pack"), "text"),
}
"""The key of the rows in a tool's result; tools without a fixed one are absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """A tool as agents see it."""

    name: str
    description: str  # its purpose, in a sentence
    parameters: JsonObject  # the JSON Schema of its parameters
    rows: str  # the key of its rows; empty if there is no fixed one
    is_read_only: bool  # True if it changes nothing


class Toolbox:
    """The tools of a vault: an allow-list, so no other command can be reached.

    Args:
        host: Runs them as commands named `tools.*`.
        is_writable: True to offer the tools that change chats, whatever the settings say.
    """

    def __init__(self, host: Host, *, is_writable: bool = False) -> None:
        self._host = host
        self._is_writable = is_writable
        count = host.count_tokens
        chats = ChatTools(host.commands, host.reading, count)
        notes = NoteTools(
            host.commands,
            host.notes,
            host.services.storage.vault_documents,
            roles=RoleSources(host.services.trust, lambda: host.config.user_roles),
            count=count,
        )
        reading = (
            *(chats.list_chats, chats.read_chat, chats.topics, chats.explain, chats.what_if),
            *(chats.receipt, notes.search_notes, notes.read_note, notes.links),
            *(notes.build_context, notes.pack),
        )
        made = (chats.split, chats.fork, chats.compact_topics)
        marks = {
            "pin": "Always send these messages, whatever the filter says.",
            "hide": "Never send these messages, whatever the filter says.",
            "release": "Let the filter decide about these messages again.",
        }
        self._reading: Mapping[str, CommandHandler] = {tool.__name__: tool for tool in reading}
        self._writing: Mapping[str, CommandHandler] = {
            **{tool.__name__: tool for tool in (chats.recall, chats.set_filter)},
            **{name: chats.marking(name, told) for name, told in marks.items()},
            **{tool.__name__: tool for tool in made},
        }
        for name, handler in {**self._reading, **self._writing}.items():
            host.commands.register(f"{PREFIX}{name}", handler)

    @property
    def is_writable(self) -> bool:
        """True if agents may change chats."""
        return self._is_writable or self._host.config.agents_may_write

    async def listed(self) -> list[ToolInfo]:
        """The tools that can be called now."""
        names = [*self._reading, *(self._writing if self.is_writable else ())]
        known = {
            each["name"]: each for each in (await self._host.commands.list_commands())["commands"]
        }
        return [
            ToolInfo(
                name=name,
                description=known[f"{PREFIX}{name}"]["description"],
                parameters=_plain(known[f"{PREFIX}{name}"]["params"]),
                rows=_ROWS.get(name, ""),
                is_read_only=name in self._reading,
            )
            for name in names
        ]

    async def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> JsonObject:
        """Run a tool.

        Raises:
            SmartContextError: As its command; also if the tool is unknown or not allowed.
        """
        if name in self._writing and not self.is_writable:
            raise UnknownCommand(
                f"{name} changes a chat, and this server only reads. Start it with --write, or set "
                "write = true in [mcp] of your config.toml."
            )
        if name not in self._reading and name not in self._writing:
            raise UnknownCommand(f"There is no tool {name[:80]!r}; tools/list names them.")
        return await self._host.commands.call(f"{PREFIX}{name}", arguments, caller)

    async def contexts(self, caller: Caller) -> list[str]:
        """The names of the caller's contexts."""
        found = await self._host.commands.call("smart_context.list_contexts", {}, caller)
        return [each["key"] for each in found["contexts"]]


def _plain(schema: JsonObject) -> JsonObject:
    """The schema without `null` for optional values, since some clients know only single types."""
    properties = {}
    for name, described in schema["properties"].items():
        types = described.get("anyOf", ())
        real = [kind for kind in types if kind != {"type": "null"}]
        if len(real) == 1:
            rest = {k: v for k, v in described.items() if k not in {"anyOf", "default"}}
            described = real[0] | rest  # noqa: PLW2901 - the same value, simplified
        properties[name] = described
    return {**schema, "properties": properties}
