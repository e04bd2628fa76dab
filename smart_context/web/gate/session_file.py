"""The file of the browsers' sessions, in the user's folder. Everything here blocks."""

from collections.abc import Callable
from pathlib import Path

from smart_context.disk.files import Conflict, Signature, read_file, replace_unless_changed
from smart_context.disk.places import Place
from smart_context.errors import StoreFailed
from smart_context.web.gate.browser_sessions import SessionRecord, read_record, render_record

FILE_NAME = "sessions.json"
MAX_BYTES = 1024 * 1024
_MAX_TRIES = 100


class SessionFile:
    """Reads and changes the record, which several servers and commands share.

    Args:
        folder: The user's folder for settings; made when something is first written.
    """

    def __init__(self, folder: Path) -> None:
        self._place = Place(folder, (FILE_NAME,))

    def __str__(self) -> str:
        return str(self._place)

    def read(self) -> tuple[Signature | None, SessionRecord]:
        """The record with the state of its file; an empty one when there is no file.

        Raises:
            StoreFailed: If it can't be read.
        """
        found = read_file(self._place, max_bytes=MAX_BYTES)
        return (None, SessionRecord()) if found is None else (found[0], read_record(found[1]))

    def update(
        self, change: Callable[[SessionRecord], SessionRecord]
    ) -> tuple[Signature | None, SessionRecord]:
        """Change the record as it is now, whoever else is changing it.

        Args:
            change: Makes the new record of the present one; may be called more than once.

        Returns:
            The new record, with the state of its file.

        Raises:
            StoreFailed: If it can't be written; the old one is intact.
        """
        for _ in range(_MAX_TRIES):
            before, record = self.read()
            changed = change(record)
            if changed == record:
                return before, record
            try:
                after = replace_unless_changed(self._place, render_record(changed), before)
            except Conflict:
                continue
            return after, changed
        raise StoreFailed(f"{self} could not be written: other programs keep changing it.")
