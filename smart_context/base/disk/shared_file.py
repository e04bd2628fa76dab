"""A small file that several servers and commands change. Everything here blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from smart_context.base.disk.files import Conflict, Signature, read_file, replace_unless_changed
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed

MAX_BYTES = 1024 * 1024
_MAX_TRIES = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile(Generic[T]):
    """A value in a JSON file, which is only replaced if nobody changed it meanwhile."""

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
        found = read_file(self.place, max_bytes=MAX_BYTES)
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
            except Conflict:
                continue
            return after, changed
        raise StoreFailed(f"{self} could not be written: other programs keep changing it.")

    def _parse(self, content: bytes) -> T:
        try:
            return self.adapter.validate_json(content)
        except ValidationError:
            return self.empty
