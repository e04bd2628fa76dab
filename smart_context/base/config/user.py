"""`config.toml` in the user's configuration folder: settings for all vaults.

It needs no trust: it is the user's own file. A vault's settings override it, but a vault's
endpoints only once the user trusts them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from smart_context.base.config.access import BY_TOKEN, AccessSettings, read_access
from smart_context.base.config.document import Table, settings_in
from smart_context.base.config.endpoints import (
    NO_PRICES,
    Endpoints,
    Prices,
    read_cache_ttl,
    read_endpoints,
    read_prices,
)
from smart_context.base.config.settings import SettingSpec, read_settings
from smart_context.base.config.storage import IN_FILES, StorageSettings, read_storage
from smart_context.base.config.vault import (
    read_agents_may_write,
    read_instructions,
    refuse_secrets,
)

USER_CONFIG_NAME = "config.toml"
ROLES_FOLDER = "roles"
NOTHING: Mapping[str, Mapping[str, SettingSpec]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """The user's settings for all vaults."""

    # used where a vault names none, or none that is trusted
    endpoints: Endpoints = field(default_factory=dict)
    roles: Path  # the user's own roles, `<name>.toml`, with `templates/` below; may not exist
    # values of plugins' settings, for vaults that set none
    plugins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instructions: str = ""  # instructions for every chat, for vaults that have none
    agents_may_write: bool = False  # agents that use MCP may also set filters, pin and hide
    prices: Prices = NO_PRICES  # what models cost, for vaults that name no prices
    storage: StorageSettings = IN_FILES  # where chats are kept, for vaults that don't say so
    # seconds that providers keep the beginning of a request; `None` if not set
    cache_ttl_s: float | None = None
    access: AccessSettings = BY_TOKEN  # how a server knows who asks, for vaults that don't say so

    def defaults(
        self, plugin_settings: Mapping[str, Mapping[str, SettingSpec]]
    ) -> Mapping[str, Mapping[str, SettingSpec]]:
        """What plugins declare, with the user's values as defaults."""
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
        folder: The user's configuration folder.
        plugin_settings: What known plugins declare; values of others are not checked or read.
        text: Read this in place of the file.

    Raises:
        ConfigInvalid: With every fault and its line.
    """
    with settings_in(folder / USER_CONFIG_NAME, may_be_link=True, text=text) as top:
        top.allow(("llm", "roles", "plugins", "chat", "mcp", "storage", "access"))
        config = UserConfig(
            endpoints=read_endpoints(top.table("llm")),
            roles=_read_roles_folder(top.table("roles"), folder),
            plugins=_read_plugins(top.table("plugins"), plugin_settings),
            instructions=read_instructions(top.table("chat")),
            agents_may_write=read_agents_may_write(top.table("mcp")) or False,
            prices=read_prices(top.table("llm").table("prices")),
            storage=read_storage(top.table("storage")),
            cache_ttl_s=read_cache_ttl(top.table("llm")),
            access=read_access(top.table("access")),
        )
        refuse_secrets(top)
    return config


def _read_plugins(
    plugins: Table, known: Mapping[str, Mapping[str, SettingSpec]]
) -> Mapping[str, Mapping[str, Any]]:
    """The values that the user set; a vault's plugin may be known in that vault only."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, specs in known.items():
        table = plugins.table(name)
        read = read_settings(table, {key: s for key, s in specs.items() if key != "enabled"})
        found[name] = {key: value for key, value in read.items() if key in table}
    return found


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
