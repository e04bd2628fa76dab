"""Finds plugins and imports them.

The product's own plugin has its `plugin.toml` at the top of the package; a vault's plugins are
in `<vault>/plugins/<id>/`. Reading manifests runs no code.
"""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Literal, cast

from smart_context import __version__
from smart_context.base.config.settings import ENABLED, SettingSpec
from smart_context.base.errors import ManifestInvalid
from smart_context.base.resources import asset
from smart_context.host.events.bus import is_async
from smart_context.host.plugins.api import Plugin
from smart_context.host.plugins.manifest import (
    MANIFEST_NAME,
    Manifest,
    read_manifest,
    version_numbers,
)
from smart_context.vault.trust.files import PLUGINS_FOLDER, read_pinned


class PluginModules:
    """The modules of one plugin of a vault.

    Args:
        trusted: The digest of each file by its path below the folder, with `/`.
    """

    def __init__(self, folder: Path, trusted: Mapping[str, str]) -> None:
        digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()
        self.package = f"_smart_context_{folder.name}_{digest[:12]}"
        self._finder = _Finder(self.package, folder, trusted)
        self._is_over = False

    def load(self, module: str) -> ModuleType:
        """Import a module of the plugin; blocks, and runs the plugin's code.

        Raises:
            ImportError: If the module is missing, a file has changed since it was trusted, or the
                modules were unloaded before.
            Exception: Whatever the plugin's code raises.
        """
        sys.meta_path.insert(0, self._finder)
        if self._is_over:  # checked after the insertion, so `unload` always removes it
            if self._finder in sys.meta_path:
                sys.meta_path.remove(self._finder)
            raise ImportError(f"{self.package} was given up", name=self.package)
        return importlib.import_module(f"{self.package}.{module}")

    def unload(self) -> None:
        """Forget the modules; new `PluginModules` then read them again."""
        self._is_over = True
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        for name in [*sys.modules]:
            if name == self.package or name.startswith(f"{self.package}."):
                del sys.modules[name]


@dataclass(frozen=True, slots=True, eq=False)
class _Finder(MetaPathFinder):
    package: str
    folder: Path
    trusted: Mapping[str, str]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target  # the name gives the module's place
        package, *steps = fullname.split(".")
        if package != self.package:
            return None
        place = self.folder.joinpath(*steps)
        init = place / "__init__.py"
        if init.is_file():
            return self._spec(fullname, init, [str(place)])
        if steps and place.with_suffix(".py").is_file():
            return self._spec(fullname, place.with_suffix(".py"), None)
        if place.is_dir():
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        # Other finders would also search the folder, and use byte code there.
        missing = ".".join(steps)
        raise ModuleNotFoundError(f"the plugin has no module {missing!r}", name=fullname)

    def _spec(self, fullname: str, path: Path, inner: list[str] | None) -> ModuleSpec | None:
        loader = _TrustedSource(fullname, path, self.folder, self.trusted)
        return spec_from_file_location(
            fullname, path, loader=loader, submodule_search_locations=inner
        )


@dataclass(frozen=True, slots=True, eq=False)
class _TrustedSource(SourceLoader):
    name: str
    path: Path
    folder: Path
    trusted: Mapping[str, str]

    def get_filename(self, fullname: str) -> str:
        del fullname  # each loader has one module
        return str(self.path)

    def get_data(self, path: str) -> bytes:
        name = Path(path).relative_to(self.folder).as_posix()
        try:
            return read_pinned(self.folder, name, self.trusted)
        except OSError as error:
            raise ImportError(
                f"{path} changed after the vault was trusted", name=self.name
            ) from error

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self.get_data(self.get_filename(fullname)), str(self.path))


Source = Literal["built-in", "vault"]

_HOOKS = {"on_load": ("context",), "on_client_connected": ("client",), "on_unload": ()}
"""The parameters of each hook of a plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlugin:
    """A plugin that was found; it may be unable to run."""

    id: str  # its id; the folder's name if the manifest can't be read
    source: Source  # the product or the vault
    folder: Path  # the folder of its manifest
    manifest: Manifest | None = None  # `None` if it can't be read
    fault: str = ""  # why it can't run; empty if no fault is known


def find_plugins(root: Path, *, built_in: Path | None = None) -> tuple[FoundPlugin, ...]:
    """The product's plugin, then those of the vault at `root`, by name.

    Args:
        built_in: The manifest of the product's plugin, if it is not the one shipped.
    """
    shipped = _found(built_in or asset(MANIFEST_NAME), "built-in")
    found = [shipped]
    for folder in _plugin_folders(root.resolve() / PLUGINS_FOLDER):
        if folder.is_symlink():
            link = "it is a link, which can't be trusted; move the folder itself here"
            found.append(FoundPlugin(id=folder.name, source="vault", folder=folder, fault=link))
            continue
        plugin = _found(folder / MANIFEST_NAME, "vault")
        if plugin.id == shipped.id:
            plugin = replace(plugin, manifest=None, fault="this id belongs to the product's plugin")
        found.append(plugin)
    return tuple(found)


def declared_settings(
    root: Path, *, built_in: Path | None = None
) -> Mapping[str, Mapping[str, SettingSpec]]:
    """The settings under `[plugins.X]` by plugin, for `read_config`.

    The product's plugin is on by default; a vault's plugin is off by default.
    """
    return {
        plugin.id: {
            "enabled": replace(ENABLED, default=plugin.source == "built-in"),
            **plugin.manifest.settings,
        }
        for plugin in find_plugins(root, built_in=built_in)
        if plugin.manifest is not None
    }


def import_plugin(manifest: Manifest, modules: PluginModules | None) -> Callable[[], object]:
    """Import a plugin's class; blocks, and runs the plugin's code.

    Args:
        modules: Imports a vault's plugin; `None` for the product's plugin.

    Raises:
        ImportError: If the module or class is missing.
        Exception: Whatever the plugin's code raises.
    """
    module = modules.load(manifest.module) if modules else importlib.import_module(manifest.module)
    plugin_class = getattr(module, manifest.class_name, None)
    if plugin_class is None:
        raise ImportError(f"{manifest.module} has no class {manifest.class_name}")
    return cast("Callable[[], object]", plugin_class)


def checked_plugin(plugin: object) -> Plugin:
    """The plugin, if its hooks are async and take the host's arguments.

    Raises:
        ImportError: If a hook is not async or has other parameters, or `on_load` is missing.
    """
    for name, given in _HOOKS.items():
        hook = getattr(plugin, name, None)
        if (hook is not None or name == "on_load") and not _takes(hook, given):
            parameters = ", ".join(("self", *given))
            declared = f"{type(plugin).__name__}.{name}"
            raise ImportError(f"{declared} needs 'async def {name}({parameters})'")
    return cast("Plugin", plugin)


def _takes(hook: object, given: Sequence[str]) -> bool:
    if not callable(hook) or not is_async(hook):
        return False
    try:
        inspect.signature(hook).bind(*given)
    except TypeError:
        return False
    return True


def _plugin_folders(plugins: Path) -> list[Path]:
    try:
        entries = [] if plugins.is_symlink() else sorted(plugins.iterdir())
        return [entry for entry in entries if entry.is_dir() and entry.name[0] not in "._"]
    except OSError:
        return []


def _found(path: Path, source: Source) -> FoundPlugin:
    folder = path.parent
    name = folder.name if source == "vault" else "smart_context"
    plugin = FoundPlugin(id=name, source=source, folder=folder)
    try:
        manifest = read_manifest(path, expected_id=name if source == "vault" else None)
    except ManifestInvalid as error:
        return replace(plugin, fault=str(error))
    plugin = replace(plugin, id=manifest.id, manifest=manifest)
    if version_numbers(manifest.min_host_version) > version_numbers(__version__):
        needed = f"needs Smart Context {manifest.min_host_version}, this is {__version__}; update"
        return replace(plugin, fault=needed)
    return plugin
