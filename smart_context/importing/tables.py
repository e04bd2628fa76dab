"""The tables of a program's SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from smart_context.importing.found import NotReadable


class Tables:
    """The tables of a SQLite file as rows; one that is not there has none.

    Args:
        opened: The file.
    """

    def __init__(self, opened: sqlite3.Connection) -> None:
        self._opened = opened
        opened.row_factory = sqlite3.Row
        opened.text_factory = lambda text: text.decode("utf-8", "replace")
        self.names = {row[0] for row in opened.execute("SELECT name FROM sqlite_master")}

    def rows(self, table: str, which: str = "", *values: object) -> Iterator[dict[str, Any]]:
        """The rows of a table, narrowed and ordered as SQL says."""
        if table in self.names and all(isinstance(value, str | int) for value in values):
            query = f"SELECT * FROM {table} {which}"  # noqa: S608 - both are written by readers
            yield from map(dict, self._opened.execute(query, values))

    def row(self, table: str, which: str, *values: object) -> dict[str, Any]:
        """The first row; empty if there is none."""
        return next(self.rows(table, which, *values), {})


@contextmanager
def tables_of(path: Path) -> Iterator[Tables]:
    """The tables of a SQLite file.

    What its program has not yet written into the file itself is read, too, if it stands beside it.

    Raises:
        NotReadable: If it is no database, or lacks a column that a reader wants.
    """
    is_whole = not path.with_name(f"{path.name}-wal").exists()
    address = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if is_whole else ''}"
    try:
        # Its steps run in one thread after the other.
        opened = sqlite3.connect(address, uri=True, check_same_thread=False)
        with closing(opened):
            yield Tables(opened)
    except (sqlite3.Error, UnicodeDecodeError, KeyError) as error:  # the latter two: columns
        raise NotReadable(
            f"expected a database of a known program, found something else: {error}"
        ) from None
