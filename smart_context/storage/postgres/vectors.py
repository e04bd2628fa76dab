"""The vectors of chats' messages in PostgreSQL: a row for each."""

from collections.abc import Sequence

import numpy as np

from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.storage.ports import Stored, no_vectors
from smart_context.storage.postgres.database import Connection, Database
from smart_context.storage.postgres.places import locked_place

_READ = """
SELECT v.width, r.key, r.value, r.is_addition FROM chat AS c
JOIN vectors AS v ON v.chat = c.number JOIN vector_row AS r ON r.chat = c.number
WHERE c.id = %s AND c.deletion = '' AND v.model = %s ORDER BY r.is_addition, r.number
"""

_INSERT = """
INSERT INTO vector_row (chat, is_addition, key, value)
SELECT %s, %s, key, value FROM unnest(%s::bytea[], %s::bytea[]) WITH ORDINALITY AS r (key, value, n)
ORDER BY n
"""


class PostgresVectors:
    """The vectors beside the chats of a database; satisfies `Vectors`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, chat_id: ChatId, model: str) -> "VectorRows":
        """Those of a chat by a model."""
        return VectorRows(self._database, check_chat_id(chat_id), model)


class VectorRows:
    """The vectors of one chat; satisfies `ChatVectors`."""

    def __init__(self, database: Database, chat: ChatId, model: str) -> None:
        self._database = database
        self._chat = chat
        self._model = model.replace("\0", " ").encode("utf-8", "replace").decode()
        self.has_additions = False

    def read(self) -> Stored:
        """The vectors as they were given; none if they are another model's."""
        rows = self._database.run(
            lambda connection: connection.execute(
                _READ, (self._chat, self._model), binary=True
            ).fetchall()
        )
        self.has_additions = any(is_addition for *_, is_addition in rows)
        if not rows:
            return no_vectors()
        width = rows[0][0]
        values = np.frombuffer(b"".join(value for _, _, value, _ in rows), dtype="<f4")
        keys = [key.decode("utf-8", "surrogatepass") for _, key, _, _ in rows]
        return keys, values.reshape(len(rows), width).astype(np.float32, copy=True)

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Store these in place of all."""
        self._database.run(lambda connection: self._write(connection, keys, vectors, adds=False))
        self.has_additions = False

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; those of another width take the place of the others."""
        self._database.run(lambda connection: self._write(connection, keys, vectors, adds=True))
        self.has_additions = True

    def _write(
        self, connection: Connection, keys: Sequence[str], vectors: Matrix, *, adds: bool
    ) -> None:
        place = locked_place(connection, self._chat)
        head = self._model, vectors.shape[1] if vectors.ndim > 1 else 0
        found = connection.execute(
            "SELECT model, width FROM vectors WHERE chat = %s", (place,)
        ).fetchone()
        if not (adds and found == head):
            connection.execute("DELETE FROM vectors WHERE chat = %s", (place,))
            connection.execute("INSERT INTO vectors VALUES (%s, %s, %s)", (place, *head))
        names = [key.encode("utf-8", "surrogatepass") for key in keys]
        values = [row.tobytes() for row in vectors.astype("<f4", copy=False)]
        connection.execute(_INSERT, (place, adds, names, values))
