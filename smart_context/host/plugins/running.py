"""Starts and stops plugins, and knows the state of each."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from smart_context.base.config import VaultConfig
from smart_context.base.threads import in_daemon_thread
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Client
from smart_context.host.panels import OwnFiles
from smart_context.host.plugins.api import Plugin, PluginContext
from smart_context.host.plugins.loader import (
    FoundPlugin,
    PluginModules,
    checked_plugin,
    find_plugins,
    import_plugin,
)
from smart_context.host.plugins.manifest import Manifest
from smart_context.host.plugins.services import Services
from smart_context.host.tasks import was_cancelled
from smart_context.vault.trust.parts import FileSet

T = TypeVar("T")

LOAD_TIMEOUT_S = 30.0 if sys.platform == "win32" else 10.0
"""On Windows a scanner for viruses reads each file before Python does."""

CONNECT_TIMEOUT_S = 5.0
UNLOAD_TIMEOUT_S = 2.0

State = Literal["running", "failed", "untrusted", "disabled", "missing"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginState:
    """A plugin and its state."""

    id: str
    name: str
    version: str
    description: str
    source: str  # `built-in` or `vault`
    state: State  # `missing`: turned on, but without a folder
    reason: str  # why it does not run; empty if it runs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launch:
    """The source of a running plugin; if it changes, the plugin is restarted."""

    manifest: Manifest
    settings: Mapping[str, Any]
    files: OwnFiles | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    launch: _Launch
    plugin: Plugin
    context: PluginContext
    modules: PluginModules | None


class _HookFailed(Exception):
    """A plugin's code failed; the message says how."""


@dataclass(slots=True)
class Plugins:
    """The plugins of one host."""

    services: Services
    built_in: Path | None  # the manifest of the product's plugin, if it is not the one shipped
    load_timeout_s: float  # maximum time for a plugin's import, and again for its `on_load`
    _running: dict[str, _Running] = field(default_factory=dict, init=False)
    _states: tuple[PluginState, ...] = field(default=(), init=False)

    def states(self) -> tuple[PluginState, ...]:
        """Every plugin of the product and the vault; the product's first."""
        return self._states

    async def list_plugins(self) -> JsonObject:
        """List every plugin and its state."""
        return {"plugins": [asdict(state) for state in self._states]}

    async def start(self, config: VaultConfig, *, restart: bool = False) -> None:
        """Start the plugins that the settings turn on, and stop the others.

        A plugin that fails is reported, and the others run. A running plugin that has not changed
        goes on, unless `restart` is set.
        """
        found = await asyncio.to_thread(find_plugins, config.root, built_in=self.built_in)
        trusted = await self._trusted_files(config, found)
        verdicts = [(plugin, _verdict(plugin, config, trusted)) for plugin in found]
        wanted = {p.id: verdict for p, verdict in verdicts if isinstance(verdict, _Launch)}
        for plugin_id in [*reversed(self._running)]:
            if restart or wanted.get(plugin_id) != self._running[plugin_id].launch:
                await self._stop_one(plugin_id)
        states = []
        for plugin, verdict in verdicts:
            outcome = await self._started(verdict) if isinstance(verdict, _Launch) else verdict
            states.append(_state(plugin, *outcome))
        self._states = (*states, *_missing(config, found))

    async def stop(self) -> None:
        """Stop all, the latest first."""
        for plugin_id in [*reversed(self._running)]:
            await self._stop_one(plugin_id)

    async def client_connected(self, client: Client) -> None:
        """Tell each plugin about a new client; one that fails is logged."""
        for plugin_id, running in [*self._running.items()]:
            if hook := getattr(running.plugin, "on_client_connected", None):
                await _logged(plugin_id, "on_client_connected", CONNECT_TIMEOUT_S, hook(client))

    async def _trusted_files(
        self, config: VaultConfig, found: Sequence[FoundPlugin]
    ) -> FileSet | None:
        """The files of the vault's plugins; `None` if not needed or not trusted."""
        if not any(p.source == "vault" and _is_enabled(p.id, config) for p in found):
            return None
        return await asyncio.to_thread(self.services.trust.plugins)

    async def _started(self, launch: _Launch) -> tuple[State, str]:
        plugin_id = launch.manifest.id
        if plugin_id in self._running:
            return "running", ""
        own = launch.files
        modules = None if own is None else PluginModules(own.folder, own.pinned)
        context = PluginContext(launch.manifest, launch.settings, self.services, own)
        try:
            work = partial(import_plugin, launch.manifest, modules)
            plugin_class = await _guarded(
                self.load_timeout_s, in_daemon_thread(work, name=plugin_id)
            )
            plugin = await _guarded(self.load_timeout_s, _loaded(plugin_class, context))
        except _HookFailed as failure:
            await context.close()
            if modules is not None:
                modules.unload()
            return "failed", str(failure)
        if launch.manifest.panel and modules is None and not self.services.panels.has(plugin_id):
            context.register_panel()
        self._running[plugin_id] = _Running(
            launch=launch, plugin=plugin, context=context, modules=modules
        )
        return "running", ""

    async def _stop_one(self, plugin_id: str) -> None:
        running = self._running.pop(plugin_id)
        await running.context.close()
        if hook := getattr(running.plugin, "on_unload", None):
            await _logged(plugin_id, "on_unload", UNLOAD_TIMEOUT_S, hook())
        if running.modules is not None:
            running.modules.unload()


async def _loaded(plugin_class: Callable[[], object], context: PluginContext) -> Plugin:
    plugin = checked_plugin(plugin_class())
    await plugin.on_load(context)
    return plugin


def _verdict(
    plugin: FoundPlugin, config: VaultConfig, trusted: FileSet | None
) -> _Launch | tuple[State, str]:
    """The launch of a plugin, or its state and the reason if it can't be started."""
    if not _is_enabled(plugin.id, config):
        return "disabled", plugin.fault or "not turned on in .vault.toml"
    if plugin.fault or plugin.manifest is None:
        return "failed", plugin.fault
    files = None
    if plugin.source == "vault":
        if trusted is None:
            return "untrusted", f"plugins are code; to run it: smart-context trust {config.root}"
        prefix = f"{plugin.id}/"
        pinned = {
            name.removeprefix(prefix): digest
            for name, digest in trusted.files.items()
            if name.startswith(prefix)
        }
        files = OwnFiles(folder=plugin.folder, pinned=pinned)
    return _Launch(
        manifest=plugin.manifest,
        settings=config.plugins.get(plugin.id, {}),
        files=files,
    )


def _is_enabled(plugin_id: str, config: VaultConfig) -> bool:
    return config.plugins.get(plugin_id, {}).get("enabled") is True


def _missing(config: VaultConfig, found: Sequence[FoundPlugin]) -> list[PluginState]:
    """Plugins that are turned on but have no folder."""
    absent = config.plugins.keys() - {plugin.id for plugin in found}
    return [
        _state(
            FoundPlugin(id=plugin_id, source="vault", folder=config.root),
            "missing",
            f"turned on in .vault.toml, but there is no folder plugins/{plugin_id}",
        )
        for plugin_id in sorted(absent)
        if _is_enabled(plugin_id, config)
    ]


def _state(plugin: FoundPlugin, state: State, reason: str) -> PluginState:
    level = logging.INFO if state in {"running", "disabled"} else logging.WARNING
    _logger.log(level, "plugin %s: %s%s", plugin.id, state, f": {reason}" if reason else "")
    manifest = plugin.manifest
    return PluginState(
        id=plugin.id,
        name=manifest.name if manifest else plugin.id,
        version=manifest.version if manifest else "",
        description=manifest.description if manifest else "",
        source=plugin.source,
        state=state,
        reason=reason,
    )


async def _logged(plugin_id: str, what: str, timeout_s: float, work: Awaitable[object]) -> None:
    try:
        await _guarded(timeout_s, work)
    except _HookFailed as failure:
        _logger.error("plugin %s: %s: %s", plugin_id, what, failure)  # noqa: TRY400 - the traceback was logged


async def _guarded(timeout_s: float, work: Awaitable[T]) -> T:
    """The result of a plugin's code.

    Raises:
        _HookFailed: If it raises, takes too long, or wants to end the program.
    """
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            return await work
    except (Exception, SystemExit) as error:
        if limit.expired():
            raise _HookFailed(f"took longer than {timeout_s:g} s and was cancelled") from error
        _logger.exception("a plugin failed")
        raise _HookFailed(f"{type(error).__name__}: {error}") from error
    except asyncio.CancelledError as error:
        if was_cancelled():
            raise
        raise _HookFailed("cancelled itself") from error
