"""JSON files that several processes change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from smart_context.base.disk.files import (
    MAX_FILE_BYTES,
    FileReplaced,
    Signature,
    atomic_write,
    read_file,
    replace_unless_changed,
)
from smart_context.base.disk.folders import (
    read_inside,
)
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject, encoded, parsed


def read_object(path: Path | Place, *, max_bytes: int = MAX_FILE_BYTES) -> JsonObject:
    """The object in a JSON file; empty if missing, damaged, too large or refused.

    The file stays as it is, so nothing is lost until the caller writes it.
    """
    try:
        return parsed(read_inside(path, max_bytes=max_bytes)) or {}
    except (OSError, ValueError):
        return {}


def write_object(
    path: Path | Place, document: Mapping[str, object], *, indent: int | None = None
) -> Signature:
    """Write a JSON object as `atomic_write` does.

    Raises:
        StoreFailed: The disk refuses; the old file is intact.
    """
    return atomic_write(path, encoded(document, indent=indent))


_MAX_SHARED_BYTES = 1024 * 1024
_MAX_TRIES = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile(Generic[T]):
    """A value in a JSON file; a change is made again if another program changed it meanwhile."""

    place: Place  # the file; its folders are made by the first write
    adapter: TypeAdapter[T]  # reads and writes the value
    empty: T  # the value of a file that is missing or damaged

    def __str__(self) -> str:
        return str(self.place)

    def read(self) -> tuple[Signature | None, T]:
        """The value with the state of its file; `None` as the state when there is no file.

        Raises:
            StoreFailed: If it can't be read.
        """
        found = read_file(self.place, max_bytes=_MAX_SHARED_BYTES)
        return (None, self.empty) if found is None else (found[0], self._parse(found[1]))

    def update(self, change: Callable[[T], T]) -> tuple[Signature | None, T]:
        """Change the current value; tries again when another program changed it meanwhile.

        Args:
            change: Returns the new value for the current one; may be called more than once.

        Returns:
            The new value, with the state of its file.

        Raises:
            StoreFailed: If it can't be written; the old one is intact.
        """
        for _ in range(_MAX_TRIES):
            before, value = self.read()
            changed = change(value)
            if changed == value:
                return before, value
            try:
                after = replace_unless_changed(
                    self.place, self.adapter.dump_json(changed, indent=1), before
                )
            except FileReplaced:
                continue
            return after, changed
        raise StoreFailed(f"{self} could not be written: other programs keep changing it.")

    def _parse(self, content: bytes) -> T:
        try:
            return self.adapter.validate_json(content)
        except ValidationError:
            return self.empty
