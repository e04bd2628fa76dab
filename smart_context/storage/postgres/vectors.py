"""The vectors of chats' messages in PostgreSQL, a row for each, and the search among them."""

from collections.abc import Sequence

import numpy as np

from smart_context.base.values import PersonId
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.storage.ports import Floats, NearMessage, Stored, no_vectors
from smart_context.storage.postgres.database import Database, locked_place, rows
from smart_context.storage.postgres.rows import storable
from smart_context.storage.postgres.schema import (
    MEANINGS_LOCK,
    Connection,
    has_meanings,
    has_relation,
)

FEW = 20_000
"""With this many messages or fewer, all of a person's are read instead, with their words."""

SCANNED = 7_000
"""The cost of the index, in compared messages, for a person who has all messages.

For others it is this number divided by their share of all messages. Measured in docs/scale.md: of
300,000 messages, both ways take the same time for a person with 46,000.
"""

LEAST_SEARCHED = 400
"""Candidates in the index, at least. With fewer it misses more neighbours, but costs no less."""

_WIDEST = 4_000
"""The most dimensions of an index of half floats."""

_AT_ONCE = 512
_FILL_PATIENCE_S = 3600.0

_COUNT = """
SELECT coalesce(sum(message_count), 0)::float8,
    (SELECT greatest(reltuples, 1)::float8 FROM pg_class WHERE oid = 'meaning'::regclass)
FROM chat AS c WHERE may_use(c, %s) AND deletion = '' AND revision IS NOT NULL
"""

_THEIRS = """
may_use(c, %(person)s) AND c.deletion = '' AND c.revision IS NOT NULL AND c.id <> %(without)s
AND v.model = %(model)s AND v.width = %(width)s AND NOT EXISTS (
    SELECT FROM chat_value WHERE chat = c.number AND name = '"private"' AND value = 'true')
"""

_EXACT = f"""
SELECT m.chat, m.number, m.value <=> %(query)s::halfvec AS distance
FROM chat AS c JOIN vectors AS v ON v.chat = c.number JOIN meaning AS m ON m.chat = c.number
WHERE {_THEIRS}
ORDER BY (m.value <=> %(query)s::halfvec) + 0 LIMIT %(limit)s
"""  # noqa: S608 - constants; the sum keeps the index out, and one join lets workers share it

_INDEXED = f"""
SELECT m.chat, m.number, m.value::halfvec({{0}}) <=> %(query)s::halfvec({{0}}) AS distance
FROM meaning AS m JOIN chat AS c ON c.number = m.chat JOIN vectors AS v ON v.chat = m.chat
WHERE vector_dims(m.value) = {{0}} AND {_THEIRS}
ORDER BY m.value::halfvec({{0}}) <=> %(query)s::halfvec({{0}}) LIMIT %(limit)s
"""  # noqa: S608 - constants, and a number

_FOUND = """
WITH near AS MATERIALIZED ({})
SELECT c.id, c.revision::text, r.key, 1 - n.distance FROM near AS n
JOIN chat AS c ON c.number = n.chat
JOIN vector_row AS r ON r.chat = n.chat AND r.number = n.number
WHERE n.distance < 'NaN' ORDER BY n.distance
"""

_SCANNING = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', least(1000, greatest(%s, %s))::text, true),
    set_config('hnsw.max_scan_tuples', '2147483647', true),
    set_config('hnsw.scan_mem_multiplier', '16', true),
    set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)
"""

_INDEX = """
CREATE INDEX meaning_{0} ON meaning USING hnsw ((value::halfvec({0})) halfvec_cosine_ops)
WHERE vector_dims(value) = {0}
"""


class VectorSearch:
    """Search by meaning over all chats of a person; does nothing without pgvector.

    Vectors are stored a second time, as half floats with one HNSW index for each width. A filter
    after an approximate search can lose neighbours. So for a person with few messages, all of them
    are compared; for others, the index is scanned on until enough rows are theirs.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_there: bool | None = None
        self._indexed: set[int] = set()

    def are_kept(self) -> bool:
        """True if the database has pgvector. Blocks; asks once."""
        if self._is_there is None:
            self._is_there = self._database.run(has_meanings)
        return self._is_there

    def make_index(self, width: int) -> None:
        """Make the index of a width where it is missing. Blocks."""
        if width in self._indexed or not 0 < width <= _WIDEST or not self.are_kept():
            return
        self._database.run(
            lambda connection: _make_index(connection, width), patience_s=_FILL_PATIENCE_S
        )
        self._indexed.add(width)

    def add(
        self, connection: Connection, chat: int, numbers: Sequence[int], vectors: Matrix
    ) -> None:
        """Add the vectors of rows that were just written; without pgvector, mark them missing."""
        if self.are_kept():
            _add(connection, chat, numbers, vectors)
        else:
            connection.execute(
                "UPDATE vectors SET lacks_meanings = true WHERE chat = %s AND NOT lacks_meanings",
                (chat,),
            )

    async def nearest(
        self,
        person: PersonId,
        model: str,
        query: Floats,
        limit: int,
        without: ChatId,
    ) -> list[NearMessage] | None:
        """The messages that are nearest to a query, nearest first.

        `None` without pgvector, and if the person has few messages.
        """
        asked = {
            "person": person,
            "model": model,
            "width": len(query),
            "query": "[" + ",".join(f"{value:.6g}" for value in query.tolist()) + "]",
            "limit": limit,
            "without": without,
        }

        def work(connection: Connection) -> list[NearMessage] | None:
            count, of_all = connection.execute(_COUNT, (person,)).fetchone() or (0, 1)
            if count <= FEW:
                return None
            statement = _EXACT
            if count**2 > SCANNED * of_all and len(query) <= _WIDEST:
                connection.execute(_SCANNING, (limit, LEAST_SEARCHED))
                statement = _INDEXED.format(len(query))
            found = connection.execute(_FOUND.format(statement).encode(), asked, binary=True)
            return [
                NearMessage(ChatId(id_), state, key.decode("utf-8", "surrogatepass"), cosine)
                for id_, state, key, cosine in found
            ]

        def search() -> list[NearMessage] | None:
            return self._database.run(work) if self.are_kept() else None

        return await self._database.in_thread(search)

    def fill(self) -> None:
        """Add vectors that were stored without pgvector, or copied, to the search. Blocks."""
        if not self.are_kept():
            return
        widths: set[int] = set()
        while lacking := self._database.run(self._fill_some, patience_s=_FILL_PATIENCE_S):
            widths |= lacking
        for width in widths:
            self.make_index(width)

    def _fill_some(self, connection: Connection) -> set[int]:
        """Add the missing vectors of some chats; returns their widths."""
        found = connection.execute(
            "SELECT chat, width FROM vectors WHERE lacks_meanings"
            " ORDER BY chat LIMIT 20 FOR UPDATE SKIP LOCKED"
        ).fetchall()
        for chat, width in found:
            stored = connection.execute(
                "SELECT number, value FROM vector_row AS r WHERE chat = %s AND NOT EXISTS"
                " (SELECT FROM meaning WHERE chat = r.chat AND number = r.number) ORDER BY number",
                (chat,),
                binary=True,
            ).fetchall()
            values = np.frombuffer(b"".join(value for _, value in stored), dtype="<f4")
            if width:
                numbers = [number for number, _ in stored]
                _add(connection, chat, numbers, values.reshape(len(stored), width))
            connection.execute("UPDATE vectors SET lacks_meanings = false WHERE chat = %s", (chat,))
        return {width for _, width in found}


def _make_index(connection: Connection, width: int) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (MEANINGS_LOCK,))
    if not has_relation(connection, f"meaning_{width}"):
        connection.execute(_INDEX.format(width).encode())


def _add(connection: Connection, chat: int, numbers: Sequence[int], vectors: Matrix) -> None:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(
        vectors, lengths, out=np.zeros_like(vectors), where=np.isfinite(lengths) & (lengths > 0)
    )
    head = np.array([vectors.shape[1], 0], dtype=">i2").tobytes()
    halves = [head + row.tobytes() for row in unit.astype(">f2")]
    for start in range(0, len(numbers), _AT_ONCE):
        with connection.cursor().copy(
            "COPY meaning (chat, number, value) FROM STDIN (FORMAT binary)"
        ) as copy:
            copy.set_types(["int8", "int8", "bytea"])
            for number, half in zip(
                numbers[start : start + _AT_ONCE], halves[start : start + _AT_ONCE], strict=True
            ):
                copy.write_row((chat, number, half))


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
    """The vectors of the chats of a database; satisfies `Vectors`."""

    def __init__(self, database: Database, meanings: VectorSearch) -> None:
        self._database = database
        self._meanings = meanings

    def of(self, chat_id: ChatId, model: str) -> "VectorRows":
        return VectorRows(self._database, self._meanings, check_chat_id(chat_id), model)


class VectorRows:
    """The vectors of one chat; satisfies `ChatVectors`."""

    def __init__(
        self, database: Database, meanings: VectorSearch, chat: ChatId, model: str
    ) -> None:
        self._database = database
        self._meanings = meanings
        self._chat = chat
        self._model = storable(model)
        self.has_additions = False

    def read(self) -> Stored:
        """The stored vectors; none if they are another model's."""
        asked = self._chat, self._model
        found = self._database.run(rows(_READ, asked, binary=True), repeatable=True)
        self.has_additions = any(is_addition for *_, is_addition in found)
        if not found:
            return no_vectors()
        width = found[0][0]
        values = np.frombuffer(b"".join(value for _, _, value, _ in found), dtype="<f4")
        keys = [key.decode("utf-8", "surrogatepass") for _, key, _, _ in found]
        return keys, values.reshape(len(found), width).astype(np.float32, copy=True)

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Store these vectors in place of all others; unchanged rows are not written again."""
        self._write(keys, vectors, adds=False)
        self.has_additions = False

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; vectors of another width replace all earlier ones."""
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


def _insert(connection: Connection, chat: int, new: Sequence[Row], *, adds: bool) -> list[int]:
    """Add rows to a chat's vectors; returns their numbers."""
    keys, values = [key for key, _ in new], [value for _, value in new]
    found = connection.execute(_INSERT, (chat, adds, keys, values))
    return sorted(number for (number,) in found)


def _keep(connection: Connection, chat: int, new: Sequence[Row]) -> int:
    """Remove outdated rows; returns the number of new rows that are stored already."""
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
