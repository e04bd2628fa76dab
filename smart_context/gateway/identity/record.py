"""The answers of each key's chats on disk, a line for each. Blocks."""

import json
import os
import threading
from contextlib import suppress

from smart_context.base.disk.files import open_file
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.gateway.identity.issued import (
    Issued,
    IssuedAnswer,
    Opening,
    as_row,
    read_row,
)

FOLDER = "clients"


class IssuedRecord:
    """The answers of one key, in a file that several servers may add to.

    Args:
        memory: The vault's memory folder.
        key: The key's name.

    Attributes:
        issued: The answers, as of the last `refresh`.
    """

    def __init__(self, memory: Place, key: str) -> None:
        self.issued = Issued()
        self._place = memory / FOLDER / f"{key}.jsonl"
        self._read = 0
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Read the lines that were added; damaged ones are skipped."""
        with self._lock:
            for line in self._new_lines():
                with suppress(ValueError, TypeError, KeyError, RecursionError):
                    row = json.loads(line)
                    if "seen" in row:
                        self.issued.see(str(row["seen"]))
                    else:
                        self.issued.note(read_row(row))

    def _new_lines(self) -> list[bytes]:
        """The complete lines after those that were read."""
        try:
            descriptor = open_file(self._place, os.O_RDONLY)
        except OSError:
            return []
        with os.fdopen(descriptor, "rb") as file:
            file.seek(self._read)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.splitlines()

    def add(self, *rows: IssuedAnswer | Opening) -> None:
        """Add answers, or how a chat began.

        Raises:
            StoreFailed: If the disk refuses.
        """
        self._append([as_row(row) for row in rows])

    def see(self, chat: str) -> None:
        """Note once that a client sent back a chat's answer.

        Raises:
            StoreFailed: If the disk refuses.
        """
        if self.issued.see(chat):
            self._append([{"seen": chat}])

    def _append(self, rows: list[dict[str, object]]) -> None:
        lines = "".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows)
        try:
            descriptor = open_file(self._place, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            with os.fdopen(descriptor, "ab") as file:
                file.write(lines.encode())
        except OSError as error:
            raise StoreFailed(
                f"{self._place} could not be written: {error.strerror or error}."
            ) from error
        self.refresh()
