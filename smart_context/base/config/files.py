"""The settings of a vault, `.vault.toml`, and of the user, `config.toml`, with all their faults."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any

from smart_context.base.config.access import BY_TOKEN, AccessSettings, read_access
from smart_context.base.config.document import KeyPath, Table, found, looks_secret, settings_in
from smart_context.base.config.endpoints import (
    NO_PRICES,
    Connections,
    Endpoints,
    EndpointSettings,
    Prices,
    read_cache_ttl,
    read_endpoints,
    read_prices,
)
from smart_context.base.config.settings import ENABLED, SettingSpec, read_settings
from smart_context.base.config.storage import IN_FILES, StorageSettings, read_storage
from smart_context.base.disk.places import Place, place_below
from smart_context.base.resources import text_beside

CONFIG_NAME = ".vault.toml"
MOST_INSTRUCTIONS = 20_000
"""Most characters of the instructions of a vault or a chat."""

_PLUGIN_ID = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultConfig:
    """The effective settings of a vault."""

    root: Path  # the vault's folder, absolute
    name: str  # the name that the user gave it
    # the folder of the chats; absolute, inside `root`, not a link; may not exist yet
    memory_dir: Path
    # settings by plugin id, defaults filled in; each has `enabled`
    plugins: Mapping[str, Mapping[str, Any]]
    path: Path | None  # the `.vault.toml`; `None` when there is none
    # the endpoints that the vault names. Nothing is sent to them before the user trusts them.
    named: Endpoints = field(default_factory=dict)
    # the connections that the vault names; in use once they are trusted to answer
    named_connections: Connections = field(default_factory=dict)
    # the connections in use
    connections: Connections = field(default_factory=dict)
    # endpoint of the chat model in use; `None`: the embedded one
    chat: EndpointSettings | None = None
    # endpoint of the model that finds topics in use; `None`: the embedded extractor
    fast: EndpointSettings | None = None
    # endpoint of the embedding model in use; `None`: the embedded one
    embedding: EndpointSettings | None = None
    # the folder of the user's own roles; `None` when it was not asked for
    user_roles: Path | None = None
    # the categories whose endpoints in `named` are not trusted for them
    restricted: frozenset[str] = frozenset()
    # the ids of the connections in `named_connections` that are not trusted
    restricted_connections: frozenset[str] = frozenset()
    # instructions for every chat that the vault brings; empty for none
    named_instructions: str = ""
    # the vault's own `agents_may_write`; `None` when it sets none
    named_agents_may_write: bool | None = None
    # agents that use MCP may also set filters, pin and hide; a vault alone can allow it only if
    # it is trusted with it
    agents_may_write: bool = False
    # the instructions in use: the vault's if it is trusted with them, else the user's own
    instructions: str = ""
    prices: Prices = NO_PRICES  # the prices of models: the vault's, else the user's own
    # the storage that the vault names; in force once it is trusted
    named_storage: StorageSettings = IN_FILES
    storage: StorageSettings = IN_FILES  # the storage of chats in use
    # seconds that providers keep the beginning of a request; `None` if not set
    cache_ttl_s: float | None = None
    # the vault's own `access`; `None` when it sets none
    named_access: AccessSettings | None = None
    # the way a server identifies people: the vault's if it is trusted with that, else the
    # user's
    access: AccessSettings = BY_TOKEN

    @property
    def endpoints(self) -> tuple[EndpointSettings, ...]:
        """All endpoints in use, those of categories first."""
        named = (self.chat, self.fast, self.embedding)
        others = (connection.endpoint for connection in self.connections.values())
        return (*filter(None, named), *others)

    @property
    def memory(self) -> Place:
        """The memory folder, for opening files in it."""
        return place_below(self.root, self.memory_dir)


def read_config(
    root: Path,
    *,
    plugin_settings: Mapping[str, Mapping[str, SettingSpec]],
    text: str | None = None,
) -> VaultConfig:
    """The settings of the vault at `root`; the defaults without a `.vault.toml`.

    No endpoint is in use yet, and no key is looked up: see `smart_context.vault.trust.parts`.

    A table `[plugins.X]` is checked against `plugin_settings["X"]`. That of an unknown plugin can't
    be checked, and only its `enabled` is read: its folder may not have been synced yet, or its
    manifest may be unreadable, which the host reports. A name that is nearly a known plugin's is a
    fault.

    Args:
        plugin_settings: The settings that each known plugin declares. A plugin that declares no
            `enabled` is off unless the user turns it on.
        text: Read this in place of the file.

    Raises:
        ConfigInvalid: With every fault and its line. Nothing is written.
    """
    root = root.resolve()
    path = root / CONFIG_NAME
    with settings_in(path, text=text) as top:
        top.allow(("vault", "llm", "plugins", "chat", "mcp", "storage", "access"))
        vault = top.table("vault")
        vault.allow(("name", "memory_dir"))
        named, connections = read_endpoints(top.table("llm"))
        config = VaultConfig(
            root=root,
            name=vault.text("name", root.name or "Vault", max_chars=200),
            memory_dir=_read_memory_dir(vault, root),
            plugins=_read_plugins(top.table("plugins"), root, plugin_settings),
            path=path if path.exists() else None,
            named=named,
            named_connections=connections,
            named_instructions=read_instructions(top.table("chat")),
            named_agents_may_write=read_agents_may_write(top.table("mcp")),
            prices=read_prices(top.table("llm").table("prices")),
            named_storage=read_storage(top.table("storage")),
            cache_ttl_s=read_cache_ttl(top.table("llm")),
            named_access=read_access(top.table("access")) if "access" in top else None,
        )
        refuse_secrets(top)
    return config


def read_instructions(chat: Table) -> str:
    """The instructions for every chat, of `[chat]`."""
    chat.allow(("instructions",))
    return chat.text("instructions", max_chars=MOST_INSTRUCTIONS).strip()


def read_agents_may_write(mcp: Table) -> bool | None:
    """True if `[mcp]` lets agents change things; `None` if it sets nothing."""
    mcp.allow(("write",))
    return mcp.boolean("write", default=False) if "write" in mcp else None


def read_memory_dir(root: Path) -> Path:
    """The memory folder of the vault at `root`, without reading its other settings.

    Raises:
        ConfigInvalid: If `.vault.toml` can't be read, or the folder's name is at fault.
    """
    root = root.resolve()
    with settings_in(root / CONFIG_NAME) as top:
        return _read_memory_dir(top.table("vault"), root)


def _read_memory_dir(vault: Table, root: Path) -> Path:
    text = vault.text("memory_dir", ".memory", max_chars=500)
    default = root / ".memory"
    posix, windows = PurePosixPath(text), PureWindowsPath(text)
    leaves = posix.is_absolute() or windows.drive or windows.root or ".." in windows.parts
    if leaves or text.startswith("~") or not text.isprintable():
        vault.fault("memory_dir", f"expected a folder inside the vault, found {found(text)}")
        return default
    folder = root / posix
    if folder == root:
        vault.fault("memory_dir", "expected a folder inside the vault, found the vault itself")
        return default
    try:
        real = folder.resolve()
        taken = real.exists() and not real.is_dir()
    except (OSError, RuntimeError):
        real, taken = folder, True
    if root not in real.parents:
        vault.fault("memory_dir", "expected a folder inside the vault, found a link that leaves it")
    elif taken:
        vault.fault("memory_dir", "expected a folder, found a file of that name")
    return real


def _read_plugins(
    plugins: Table, root: Path, plugin_settings: Mapping[str, Mapping[str, SettingSpec]]
) -> Mapping[str, Mapping[str, Any]]:
    settings: dict[str, Mapping[str, Any]] = {}
    for name in dict.fromkeys((*plugin_settings, *plugins.values)):
        table = plugins.table(name)
        if name not in plugin_settings:
            table = _known_part(table, name, root, plugin_settings)
        specs = {"enabled": ENABLED, **plugin_settings.get(name, {})}
        settings[name] = MappingProxyType(read_settings(table, specs))
    return MappingProxyType(settings)


def _known_part(
    table: Table, name: str, root: Path, known: Mapping[str, Mapping[str, SettingSpec]]
) -> Table:
    """The readable settings of an unknown plugin."""
    enabled = Table(
        {key: value for key, value in table.values.items() if key == "enabled"},
        table.path,
        table.faults,
    )
    if not _PLUGIN_ID.fullmatch(name):
        message = "expected a plugin's id: small letters, digits and _, beginning with a letter"
        table.faults.add(table.path, message)
    elif (root / "plugins" / name).is_dir():
        pass
    elif close := difflib.get_close_matches(name, known, n=1, cutoff=0.8):
        message = f"no such plugin; did you mean {close[0]!r}?"
        table.faults.add(table.path, message, is_unknown=True, meant=close[0])
    return enabled


def refuse_secrets(top: Table) -> None:
    """Note every string that looks like an API key; endpoints check their own."""
    for key in _keys_with_secrets(top.values, ()):
        fault = "holds what looks like an API key (not shown); keys are never kept here"
        top.faults.add(key, fault)


def _keys_with_secrets(value: object, path: KeyPath) -> Iterator[KeyPath]:
    if path[:1] == ("llm",) and path[-1] in {"base_url", "api_key_env"}:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _keys_with_secrets(inner, (*path, name))
    elif isinstance(value, list):
        if any(list(_keys_with_secrets(inner, path)) for inner in value):
            yield path
    elif isinstance(value, str) and looks_secret(value):
        yield path


def starter_config() -> str:
    """A commented `.vault.toml` whose values are the defaults."""
    return text_beside(__file__, "starter.toml")


USER_CONFIG_NAME = "config.toml"
ROLES_FOLDER = "roles"
NOTHING: Mapping[str, Mapping[str, SettingSpec]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """The user's settings for all vaults.

    They need no trust: the file is the user's own. A vault's settings override them, but its
    endpoints only once the user trusts them.
    """

    # for vaults that name none, or none that is trusted
    endpoints: Endpoints = field(default_factory=dict)
    connections: Connections = field(default_factory=dict)  # for all vaults
    roles: Path  # the user's own roles, `<name>.toml`, with `templates/` below; may not exist
    # values of plugins' settings, for vaults that set none
    plugins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instructions: str = ""  # instructions for every chat, for vaults that have none
    agents_may_write: bool = False  # agents that use MCP may also set filters, pin and hide
    prices: Prices = NO_PRICES  # the prices of models, for vaults that name none
    storage: StorageSettings = IN_FILES  # the storage of chats, for vaults that name none
    # seconds that providers keep the beginning of a request; `None` if not set
    cache_ttl_s: float | None = None
    access: AccessSettings = BY_TOKEN  # identifies people, for vaults that set none

    def defaults(
        self, plugin_settings: Mapping[str, Mapping[str, SettingSpec]]
    ) -> Mapping[str, Mapping[str, SettingSpec]]:
        """The settings that plugins declare, with the user's values as defaults."""
        return {
            plugin: {
                name: replace(spec, default=self.plugins.get(plugin, {}).get(name, spec.default))
                for name, spec in specs.items()
            }
            for plugin, specs in plugin_settings.items()
        }


def read_user_config(
    folder: Path,
    plugin_settings: Mapping[str, Mapping[str, SettingSpec]] = NOTHING,
    *,
    text: str | None = None,
) -> UserConfig:
    """The settings in the user's folder; the defaults when there is no file.

    Args:
        plugin_settings: The settings that known plugins declare; those of others are not read.
        text: Read this in place of the file.

    Raises:
        ConfigInvalid: With every fault and its line.
    """
    with settings_in(folder / USER_CONFIG_NAME, may_be_link=True, text=text) as top:
        top.allow(("llm", "roles", "plugins", "chat", "mcp", "storage", "access"))
        endpoints, connections = read_endpoints(top.table("llm"))
        config = UserConfig(
            endpoints=endpoints,
            connections=connections,
            roles=_read_roles_folder(top.table("roles"), folder),
            plugins=_read_users_plugins(top.table("plugins"), plugin_settings),
            instructions=read_instructions(top.table("chat")),
            agents_may_write=read_agents_may_write(top.table("mcp")) or False,
            prices=read_prices(top.table("llm").table("prices")),
            storage=read_storage(top.table("storage")),
            cache_ttl_s=read_cache_ttl(top.table("llm")),
            access=read_access(top.table("access")),
        )
        refuse_secrets(top)
    return config


def _read_users_plugins(
    plugins: Table, known: Mapping[str, Mapping[str, SettingSpec]]
) -> Mapping[str, Mapping[str, Any]]:
    """The values that the user set; a vault's plugin may be known in that vault only."""
    values: dict[str, Mapping[str, Any]] = {}
    for name, specs in known.items():
        table = plugins.table(name)
        read = read_settings(table, {key: s for key, s in specs.items() if key != "enabled"})
        values[name] = {key: value for key, value in read.items() if key in table}
    return values


def _read_roles_folder(roles: Table, folder: Path) -> Path:
    """The folder that `[roles] folder` names; it may begin with `~` or be relative."""
    roles.allow(("folder",))
    named = roles.text("folder", ROLES_FOLDER, max_chars=1_000)
    try:
        path = folder / Path(named).expanduser()
        is_wrong = "folder" in roles and not path.is_dir()
    except (OSError, RuntimeError, ValueError):
        path, is_wrong = folder / ROLES_FOLDER, True
    if is_wrong:
        roles.fault("folder", "expected a folder that exists")
    return path
