"""The vectors of chats' messages in PostgreSQL: a row for each."""

from collections.abc import Sequence

import numpy as np

from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.storage.ports import Stored, no_vectors
from smart_context.storage.postgres.database import Connection, Database
from smart_context.storage.postgres.meanings import Meanings
from smart_context.storage.postgres.places import locked_place
from smart_context.storage.postgres.rows import storable

_READ = """
SELECT v.width, r.key, r.value, r.is_addition FROM chat AS c
JOIN vectors AS v ON v.chat = c.number JOIN vector_row AS r ON r.chat = c.number
WHERE c.id = %s AND c.deletion = '' AND v.model = %s ORDER BY r.is_addition, r.number
"""

_INSERT = """
INSERT INTO vector_row (chat, is_addition, key, value)
SELECT %s, %s, key, value FROM unnest(%s::bytea[], %s::bytea[]) WITH ORDINALITY AS r (key, value, n)
ORDER BY n RETURNING number
"""

_THERE = "SELECT number, key, value FROM vector_row WHERE chat = %s ORDER BY is_addition, number"

_HEAD = "INSERT INTO vectors (chat, model, width, lacks_meanings) VALUES (%s, %s, %s, false)"

Row = tuple[bytes, bytes]
"""A key and its vector, as they are stored."""


class PostgresVectors:
    """The vectors beside the chats of a database; satisfies `Vectors`."""

    def __init__(self, database: Database, meanings: Meanings) -> None:
        self._database = database
        self._meanings = meanings

    def of(self, chat_id: ChatId, model: str) -> "VectorRows":
        """Those of a chat by a model."""
        return VectorRows(self._database, self._meanings, check_chat_id(chat_id), model)


class VectorRows:
    """The vectors of one chat; satisfies `ChatVectors`."""

    def __init__(self, database: Database, meanings: Meanings, chat: ChatId, model: str) -> None:
        self._database = database
        self._meanings = meanings
        self._chat = chat
        self._model = storable(model)
        self.has_additions = False

    def read(self) -> Stored:
        """The vectors as they were given; none if they are another model's."""
        rows = self._database.run(
            lambda connection: connection.execute(
                _READ, (self._chat, self._model), binary=True
            ).fetchall(),
            repeatable=True,
        )
        self.has_additions = any(is_addition for *_, is_addition in rows)
        if not rows:
            return no_vectors()
        width = rows[0][0]
        values = np.frombuffer(b"".join(value for _, _, value, _ in rows), dtype="<f4")
        keys = [key.decode("utf-8", "surrogatepass") for _, key, _, _ in rows]
        return keys, values.reshape(len(rows), width).astype(np.float32, copy=True)

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Store these in place of all; rows that stay are not written again."""
        self._write(keys, vectors, adds=False)
        self.has_additions = False

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; those of another width take the place of the others."""
        self._write(keys, vectors, adds=True)
        self.has_additions = True

    def _write(self, keys: Sequence[str], vectors: Matrix, *, adds: bool) -> None:
        width = vectors.shape[1] if vectors.ndim > 1 else 0
        new = _rows(keys, vectors)
        self._meanings.make_index(width)

        def work(connection: Connection) -> None:
            place = locked_place(connection, self._chat)
            found = connection.execute(
                "SELECT model, width FROM vectors WHERE chat = %s", (place,)
            ).fetchone()
            if found != (self._model, width):
                connection.execute("DELETE FROM vectors WHERE chat = %s", (place,))
                connection.execute(_HEAD, (place, self._model, width))
            kept = 0 if adds else _keep(connection, place, new)
            numbers = _insert(connection, place, new[kept:], adds=adds)
            self._meanings.add(connection, place, numbers, vectors[kept:])

        self._database.run(work)


def _rows(keys: Sequence[str], vectors: Matrix) -> list[Row]:
    values = [row.tobytes() for row in vectors.astype("<f4", copy=False)]
    return list(zip([key.encode("utf-8", "surrogatepass") for key in keys], values, strict=True))


def _insert(connection: Connection, chat: int, rows: Sequence[Row], *, adds: bool) -> list[int]:
    """Add rows to a chat's vectors; returns their numbers."""
    keys, values = [key for key, _ in rows], [value for _, value in rows]
    found = connection.execute(_INSERT, (chat, adds, keys, values))
    return sorted(number for (number,) in found)


def _keep(connection: Connection, chat: int, new: Sequence[Row]) -> int:
    """Remove the rows that do not stay; returns how many of the new ones are there already."""
    there = connection.execute(_THERE, (chat,), binary=True).fetchall()
    kept: list[int] = []
    gone: list[int] = []
    for number, *row in there:
        is_kept = len(kept) < len(new) and tuple(row) == new[len(kept)]
        (kept if is_kept else gone).append(number)
    connection.execute("DELETE FROM vector_row WHERE chat = %s AND number = ANY(%s)", (chat, gone))
    connection.execute(
        "UPDATE vector_row SET is_addition = false WHERE chat = %s AND is_addition", (chat,)
    )
    return len(kept)
