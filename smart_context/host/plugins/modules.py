"""Imports the modules of a vault's plugin as a package of its own.

Each plugin is a package with a generated name, so two plugins may both have a `main`, siblings
are imported as `from . import x`, and `sys.path` stays as it is. Only sources that the user
trusts are loaded; no byte code is read or written.
"""

import hashlib
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from smart_context.vault.trust.files import read_pinned


class PluginModules:
    """The modules of one plugin of a vault.

    Args:
        trusted: The digest of each file by its path below the folder, with `/`.
    """

    def __init__(self, folder: Path, trusted: Mapping[str, str]) -> None:
        digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()
        self.package = f"_smart_context_{folder.name}_{digest[:12]}"
        self._finder = _Finder(self.package, folder, trusted)

    def load(self, module: str) -> ModuleType:
        """Import a module of the plugin; blocks, and runs the plugin's code.

        Raises:
            ImportError: If the module is missing, or a file has changed since it was trusted.
            Exception: Whatever the plugin's code raises.
        """
        sys.meta_path.insert(0, self._finder)
        return importlib.import_module(f"{self.package}.{module}")

    def unload(self) -> None:
        """Forget the modules, so they are read again next time."""
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        for name in [*sys.modules]:
            if name == self.package or name.startswith(f"{self.package}."):
                del sys.modules[name]


class _Finder(MetaPathFinder):
    def __init__(self, package: str, folder: Path, trusted: Mapping[str, str]) -> None:
        self._package = package
        self._folder = folder
        self._trusted = trusted

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target  # the name gives the module's place
        package, *steps = fullname.split(".")
        if package != self._package:
            return None
        place = self._folder.joinpath(*steps)
        init = place / "__init__.py"
        if init.is_file():
            return self._spec(fullname, init, [str(place)])
        if steps and place.with_suffix(".py").is_file():
            return self._spec(fullname, place.with_suffix(".py"), None)
        if place.is_dir():
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        # Other finders would look in the folder too, and take byte code.
        missing = ".".join(steps)
        raise ModuleNotFoundError(f"the plugin has no module {missing!r}", name=fullname)

    def _spec(self, fullname: str, path: Path, inner: list[str] | None) -> ModuleSpec | None:
        loader = _TrustedSource(fullname, path, self._folder, self._trusted)
        return spec_from_file_location(
            fullname, path, loader=loader, submodule_search_locations=inner
        )


class _TrustedSource(SourceLoader):
    def __init__(self, fullname: str, path: Path, folder: Path, trusted: Mapping[str, str]) -> None:
        self._fullname = fullname
        self._path = path
        self._folder = folder
        self._trusted = trusted

    def get_filename(self, fullname: str) -> str:
        del fullname  # one loader, one module
        return str(self._path)

    def get_data(self, path: str) -> bytes:
        name = Path(path).relative_to(self._folder).as_posix()
        try:
            return read_pinned(self._folder, name, self._trusted)
        except OSError as error:
            raise ImportError(
                f"{path} changed after the vault was trusted", name=self._fullname
            ) from error

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self.get_data(self.get_filename(fullname)), str(self._path))
