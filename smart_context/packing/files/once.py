"""Keeps files that have several names, by links, from being packed twice."""

import os
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property

from smart_context.packing.files.sources import Sources


class FilesOnce:
    """The files of one prompt, each under one name. Hard links count as other files.

    Attributes:
        names: The paths that were taken.
    """

    def __init__(self, sources: Sources) -> None:
        self.names: set[str] = set()
        self._sources = sources
        self._led_to: set[str] = set()

    def take(self, paths: Iterable[str]) -> list[str]:
        """As `left`; the next calls leave these files out."""
        names = self.left(paths)
        self.names.update(names)
        self._led_to.update(self._linked(names).values())
        return names

    def left(self, paths: Iterable[str]) -> list[str]:
        """The paths of files that are not taken, each file once.

        Of several names in `paths`, a file keeps its own; else the first.
        """
        names = dict.fromkeys(path for path in paths if path not in self.names)
        seen = {*self.names, *self._led_to}
        for name, file in self._linked(names).items():
            if file in seen or (file != name and file in names):
                del names[name]
            else:
                seen.add(file)
        return [*names]

    def _linked(self, names: Collection[str]) -> dict[str, str]:
        """The files behind those names that may not be the only one of their file."""
        if not names:
            return {}
        stamps, shared = self._sources.stamps, self._shared
        return {
            name: self._real(name)
            for name in names
            if name not in stamps or (shared and stamps[name][3] in shared)
        }

    @cached_property
    def _shared(self) -> set[int]:
        """The inodes with several names."""
        counts = Counter([stamp[3] for stamp in self._sources.stamps.values()])
        return {inode for inode, count in counts.items() if count > 1}

    @cached_property
    def _top(self) -> str:
        return os.path.realpath(self._sources.root) + os.sep

    def _real(self, name: str) -> str:
        """The path of a file without links, relative to the repository if it is in there."""
        try:
            return os.path.realpath(self._sources.root / name).removeprefix(self._top)
        except (OSError, ValueError):  # not a possible path
            return name
