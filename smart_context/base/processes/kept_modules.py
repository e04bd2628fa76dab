"""Code that is kept in memory, to be imported when no file can be opened any more."""

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import cache_from_source, spec_from_file_location
from types import ModuleType
from typing import Any, Final

from typing_extensions import override

_MODIFIED: Final = slice(4, 12)
"""Where compiled code has its flags (0: compare times) and the time of its source (PEP 552)."""


def keep(package: str) -> None:
    """Read the code of a package's modules that are not loaded yet, without running it.

    Native modules are not kept.

    Raises:
        ImportError: If there is no such package.
    """
    kept = _Kept()
    for folder in importlib.import_module(package).__path__:
        kept.read(package, folder)
    sys.meta_path.insert(0, kept)


class _Kept:
    """Finds modules that were read before."""

    def __init__(self) -> None:
        self._loaders: dict[str, _Loader] = {}

    def read(self, package: str, folder: str) -> None:
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            name, suffix = os.path.splitext(entry.name)  # noqa: PTH122 - paths cost four times more
            if suffix == ".py" and name.isidentifier():
                full = package if name == "__init__" else f"{package}.{name}"
                if full not in sys.modules:
                    self._loaders[full] = _Loader(full, entry.path)
            elif name.isidentifier() and name != "__pycache__" and entry.is_dir():
                self.read(f"{package}.{name}", entry.path)

    def find_spec(
        self,
        name: str,
        _path: Sequence[str] | None = None,
        _target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """The module, if it was read."""
        if (loader := self._loaders.get(name)) is None:
            return None
        return spec_from_file_location(name, loader.path, loader=loader)


class _Loader(SourceFileLoader):
    """Loads one module from memory: its compiled code, or its source if there is none."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, path)
        status = os.stat(path)  # noqa: PTH116 - paths cost four times more
        self._stats = {"mtime": int(status.st_mtime), "size": status.st_size}
        compiled = cache_from_source(path)
        self._files: dict[str, bytes] = {}
        with contextlib.suppress(OSError):
            self._files[compiled] = super().get_data(compiled)
        expected = bytes(4) + (self._stats["mtime"] & 0xFFFFFFFF).to_bytes(4, "little")
        if self._files.get(compiled, b"")[_MODIFIED] != expected:
            self._files[path] = super().get_data(path)

    @override
    def path_stats(self, path: str) -> Any:
        return self._stats

    @override
    def get_data(self, path: str) -> bytes:
        try:
            return self._files[os.fspath(path)]
        except KeyError:
            raise FileNotFoundError(path) from None
