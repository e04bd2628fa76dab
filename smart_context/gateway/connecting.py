"""The settings of each client that connect it: to the models, and to the vault as tools."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from cachetools import LRUCache

from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject

DEFAULT_BASE_URL = "http://127.0.0.1:8377/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsSetup:
    """How an agent gets the vault as tools, by MCP."""

    where: str  # where the lines go
    local: str  # the settings that start `smart-context mcp`; `{vault}` is to be filled in
    served: str  # those that use a running server; `{url}` and `{key}` are to be filled in

    def local_lines(self, vault: str) -> str:
        """The settings for a vault's folder."""
        is_json = self.local.startswith("{")
        return self.local.replace("{vault}", json.dumps(vault) if is_json else shlex.quote(vault))

    def served_lines(self, base_url: str, key: str) -> str:
        """The settings for the server whose models have this base URL."""
        url = f"{base_url.removesuffix('/v1')}/mcp"
        return self.served.replace("{url}", url).replace("{key}", key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSetup:
    """How one client is connected."""

    name: str  # its usual name
    where: str = ""  # where the lines go; empty if its models can't be chosen
    lines: str = ""  # the settings; `{base_url}`, `{key}` and `{model}` are to be filled in
    # how the client tells its chats apart, in words
    chat_id: str = "It sends no id; its chats are recognised by the answers that they hold."
    tools: ToolsSetup | None = None  # how it gets the vault as tools; `None` if it takes none

    def filled(self, base_url: str, key: str, model: str) -> str:
        """The settings, ready to be copied."""
        filled = self.lines
        for name, value in (("base_url", base_url), ("key", key), ("model", model)):
            filled = filled.replace(f"{{{name}}}", value)
        return filled


CLIENTS: Mapping[str, ClientSetup] = {
    "open-webui": ClientSetup(
        name="Open WebUI",
        where="its environment; or Admin Panel > Settings > Connections > OpenAI API",
        lines="OPENAI_API_BASE_URL={base_url}\n"
        "OPENAI_API_KEY={key}\n"
        "ENABLE_FORWARD_USER_INFO_HEADERS=true",
        chat_id="With the third line it says which of its chats a message belongs to.",
    ),
    "opencode": ClientSetup(
        name="opencode",
        where="opencode.json of the project, or ~/.config/opencode/opencode.json",
        lines='{"provider": {"smart-context": {\n'
        '  "npm": "@ai-sdk/openai-compatible",\n'
        '  "name": "Smart Context",\n'
        '  "options": {"baseURL": "{base_url}", "apiKey": "{key}"},\n'
        '  "models": {"{model}": {}}}}}',
        chat_id="It says itself which of its chats a message belongs to.",
        tools=ToolsSetup(
            where="opencode.json of the project, or ~/.config/opencode/opencode.json",
            local='{"mcp": {"notes": {"type": "local",\n'
            '  "command": ["smart-context", "mcp", {vault}]}}}',
            served='{"mcp": {"notes": {"type": "remote", "url": "{url}",\n'
            '  "headers": {"Authorization": "Bearer {key}"}}}}',
        ),
    ),
    "codex": ClientSetup(
        name="Codex",
        where="~/.codex/config.toml; then: export SMART_CONTEXT_KEY={key}",
        lines='model = "{model}"\n'
        'model_provider = "smart-context"\n\n'
        "[model_providers.smart-context]\n"
        'name = "Smart Context"\n'
        'base_url = "{base_url}"\n'
        'env_key = "SMART_CONTEXT_KEY"\n'
        'wire_api = "responses"',
        chat_id="It says itself which of its chats a message belongs to.",
        tools=ToolsSetup(
            where="a terminal",
            local="codex mcp add notes -- smart-context mcp {vault}",
            served="export SMART_CONTEXT_KEY={key}\n"
            "codex mcp add notes --url {url} --bearer-token-env-var SMART_CONTEXT_KEY",
        ),
    ),
    "aider": ClientSetup(
        name="aider",
        where="a terminal",
        lines="export OPENAI_API_BASE={base_url}\n"
        "export OPENAI_API_KEY={key}\n"
        "aider --model openai/{model}",
    ),
    "llm": ClientSetup(
        name="llm",
        where="extra-openai-models.yaml next to the file that `llm logs path` names; "
        "then: llm keys set smart-context",
        lines="- model_id: smart-context\n"
        "  model_name: {model}\n"
        "  api_base: {base_url}\n"
        "  api_key_name: smart-context",
    ),
    "continue": ClientSetup(
        name="Continue",
        where="~/.continue/config.yaml",
        lines="name: Smart Context\n"
        "version: 1.0.0\n"
        "schema: v1\n"
        "models:\n"
        "  - name: Smart Context\n"
        "    provider: openai\n"
        "    model: {model}\n"
        "    apiBase: {base_url}\n"
        "    apiKey: {key}",
    ),
    "sillytavern": ClientSetup(
        name="SillyTavern",
        where="API Connections",
        lines="API: Chat Completion\n"
        "Chat Completion Source: Custom (OpenAI-compatible)\n"
        "Custom Endpoint (Base URL): {base_url}\n"
        "Custom API Key: {key}\n"
        "Model ID: {model}",
    ),
    "obsidian-copilot": ClientSetup(
        name="Copilot for Obsidian",
        where="Settings > Copilot > Model > Add Custom Model",
        lines="Model Name: {model}\nProvider: OpenAI Format\nBase URL: {base_url}\nAPI Key: {key}",
    ),
    "openai": ClientSetup(
        name="openai (Python)",
        where="your program",
        lines="from openai import OpenAI\n\n"
        'client = OpenAI(base_url="{base_url}", api_key="{key}")\n'
        'client.chat.completions.create(model="{model}", messages=[...])',
        chat_id='Name a chat yourself with extra_headers={"X-Smart-Context-Chat": "my-chat"}, '
        "or let its answers tell.",
    ),
    "ai-sdk": ClientSetup(
        name="AI SDK",
        where="your program",
        lines='import { createOpenAI } from "@ai-sdk/openai";\n\n'
        'const openai = createOpenAI({ baseURL: "{base_url}", apiKey: "{key}" });\n'
        'const model = openai("{model}");',
    ),
    "claude-code": ClientSetup(
        name="Claude Code",
        tools=ToolsSetup(
            where="a terminal",
            local="claude mcp add notes -- smart-context mcp {vault}",
            served="claude mcp add --transport http notes {url} "
            '--header "Authorization: Bearer {key}"',
        ),
    ),
    "claude-desktop": ClientSetup(
        name="Claude Desktop",
        tools=ToolsSetup(
            where="claude_desktop_config.json (Settings > Developer > Edit Config)",
            local='{"mcpServers": {"notes":\n'
            '  {"command": "smart-context", "args": ["mcp", {vault}]}}}',
            served="",
        ),
    ),
    "vscode": ClientSetup(
        name="VS Code",
        tools=ToolsSetup(
            where=".vscode/mcp.json",
            local='{"servers": {"notes": {"command": "smart-context", "args": ["mcp", {vault}]}}}',
            served='{"servers": {"notes": {"type": "http", "url": "{url}",\n'
            '  "headers": {"Authorization": "Bearer {key}"}}}}',
        ),
    ),
}
"""By the name for `smart-context connect`."""


MAX_CLIENTS = 256


@dataclass(slots=True, kw_only=True)
class ClientActivity:
    """The requests of one client with one key."""

    key: str  # the name of its key
    client: str  # the program, as far as its headers tell
    last_at: str = ""  # the time of its last request, ISO 8601 in UTC
    requests: int = 0  # the number of its requests
    error: str = ""  # why its last request failed; empty if it did not
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
        """All clients, the last active first."""
        known = sorted(self._known.values(), key=lambda client: client.last_at, reverse=True)
        return [asdict(client) for client in known]
