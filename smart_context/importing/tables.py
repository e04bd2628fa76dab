"""The tables of a program's SQLite file."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from smart_context.importing.found import NotReadable


class Tables:
    """The tables of a SQLite file as rows; a missing table has none.

    Views and virtual tables are ignored: in a hostile file, reading their rows could take for ever.
    """

    def __init__(self, opened: sqlite3.Connection) -> None:
        self._opened = opened
        self._places: dict[tuple[str, str, str], dict[Any, list[int]]] = {}
        opened.row_factory = sqlite3.Row
        opened.text_factory = lambda text: text.decode("utf-8", "replace")
        opened.execute("PRAGMA temp_store = MEMORY")  # the process can't create files
        opened.execute("PRAGMA trusted_schema = OFF")
        real = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        self.names = {row[0] for row in opened.execute(real)}

    def rows(self, table: str, order: str = "rowid") -> Iterator[dict[str, Any]]:
        """The rows of a table, in this SQL order."""
        for places in self.groups(table, "NULL", order):
            yield from self.rows_at(table, places)

    def groups(self, table: str, column: str, order: str) -> Iterator[Sequence[int]]:
        """The row ids with the same value in a column, in the order of each value's first row."""
        return iter(self._grouped(table, column, order).values())

    def rows_of(
        self, table: str, column: str, value: object, order: str = "rowid"
    ) -> Iterator[dict[str, Any]]:
        """The rows with this value, in this SQL order."""
        if isinstance(value, str | int):
            places = self._grouped(table, column, order).get(value, ())
            yield from self.rows_at(table, places)

    def row_of(self, table: str, column: str, value: object) -> dict[str, Any]:
        """The first row with this value; empty if there is none."""
        return next(self.rows_of(table, column, value), {})

    def _grouped(self, table: str, column: str, order: str) -> dict[Any, list[int]]:
        """Row ids by a column's values, read once: the file may have no index, or a wrong one."""
        asked = table, column, order
        if asked not in self._places and table in self.names:
            found: dict[Any, list[int]] = {}
            query = f"SELECT {column}, rowid FROM {table} ORDER BY {order}"  # noqa: S608 - as below
            for value, place in self._opened.execute(query):
                found.setdefault(value, []).append(place)
            self._places[asked] = found
        return self._places.get(asked, {})

    def rows_at(self, table: str, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        """The rows with these row ids."""
        yield from map(partial(self._row, table), places)

    def _row(self, table: str, place: int) -> dict[str, Any]:
        query = f"SELECT * FROM {table} WHERE rowid = ?"  # noqa: S608 - the readers write the names
        (row,) = self._opened.execute(query, (place,))
        return dict(row)


@contextmanager
def tables_of(opened: sqlite3.Connection) -> Iterator[Tables]:
    """The tables of an opened SQLite file.

    Raises:
        NotReadable: If it is not a database, or lacks a column that a reader needs.
    """
    try:
        yield Tables(opened)
    except (sqlite3.Error, UnicodeDecodeError, KeyError) as error:  # the last two: bad columns
        raise NotReadable(
            f"expected a database of a known program, found something else: {error}"
        ) from None
