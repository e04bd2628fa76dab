"""What this process can make again, in its memory."""

import sqlite3
from dataclasses import dataclass, field
from secrets import token_hex


@dataclass(slots=True)
class MemoryCaches:
    """Files and databases by name; satisfies `Caches`."""

    _files: dict[str, bytes] = field(default_factory=dict)
    _databases: dict[str, tuple[str, sqlite3.Connection]] = field(default_factory=dict)

    def can_keep(self) -> bool:
        """Always true."""
        return True

    def has(self, name: str) -> bool:
        """True if something is kept under the name."""
        return name in self._files or name in self._databases

    def read(self, name: str) -> bytes:
        """The content of a file."""
        try:
            return self._files[name]
        except KeyError as error:
            raise FileNotFoundError(name) from error

    def write(self, name: str, content: bytes) -> None:
        """Replace a file."""
        self._files[name] = content

    def database(
        self,
        name: str,
        *,
        timeout_s: float,
        max_bytes: int | None = None,  # noqa: ARG002 - nobody else writes to it
        check_same_thread: bool = True,
    ) -> sqlite3.Connection:
        """A connection to a database, which stays until it is removed."""
        if name not in self._databases:
            address = f"file:{token_hex(8)}?mode=memory&cache=shared"
            keeping = sqlite3.connect(address, uri=True, check_same_thread=False)
            self._databases[name] = address, keeping
        return sqlite3.connect(
            self._databases[name][0],
            uri=True,
            timeout=timeout_s,
            check_same_thread=check_same_thread,
        )

    def remove_database(self, name: str) -> None:
        """Remove a database that is not open."""
        if found := self._databases.pop(name, None):
            found[1].close()
