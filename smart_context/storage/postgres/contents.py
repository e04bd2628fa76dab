"""The contents of a database, piece by piece, in the form of a memory folder. Blocks."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from smart_context.chat.documents.document import Version, raw_version, read_json
from smart_context.llm.models import Matrix
from smart_context.storage.layout import (
    FILES,
    TRASH,
    Content,
    PieceKind,
    StoredPiece,
    joined,
    lines_of,
    piece_at,
)
from smart_context.storage.names import parsed_deletion
from smart_context.storage.postgres.database import Database
from smart_context.storage.postgres.rows import read_chat, write_chat
from smart_context.storage.postgres.schema import Connection
from smart_context.storage.vector_format import (
    VectorHead,
    encoded_vectors,
    journal_head,
    journal_records,
    parsed_journal,
    parsed_vectors,
)

_PATIENCE_S = 120.0

_BESIDE = """
SELECT c.id, c.deletion, s.suffix FROM chat AS c JOIN (
    SELECT number AS chat, 'json' AS suffix FROM chat WHERE revision IS NOT NULL
    UNION ALL SELECT chat, name || '.json' FROM document
    UNION ALL SELECT chat, name || '.jsonl' FROM log WHERE chat IS NOT NULL
    UNION ALL SELECT chat, 'answer.jsonl' FROM answer WHERE journal <> ''
    UNION ALL SELECT chat, 'embeddings.json' FROM vectors AS v WHERE EXISTS
        (SELECT FROM vector_row WHERE chat = v.chat AND NOT is_addition)
        OR NOT EXISTS (SELECT FROM vector_row WHERE chat = v.chat)
    UNION ALL SELECT chat, 'embeddings.journal' FROM vectors AS v WHERE EXISTS
        (SELECT FROM vector_row WHERE chat = v.chat AND is_addition)
) AS s ON s.chat = c.number
"""

_OF_VAULT = """
SELECT CASE WHEN kind = '' THEN '.' || name ELSE kind || '/' || name END || '.json'
    FROM vault_document
UNION ALL SELECT kind || '/' || name || '.jsonl' FROM log WHERE chat IS NULL
UNION ALL SELECT %s || '/' || key FROM blob
"""

_BODIES = {
    "document": "SELECT content FROM document WHERE chat = %(chat)s AND name = %(name)s",
    "answer": "SELECT journal FROM answer WHERE chat = %(chat)s",
    "vault document": "SELECT content FROM vault_document WHERE kind = %(of)s AND name = %(name)s",
    "other": "SELECT content FROM other_file WHERE path = %(path)s",
}

_LOG = """
WITH made AS (
    INSERT INTO log (chat, kind, name, added) VALUES (%(chat)s, %(of)s, %(name)s, %(count)s)
    RETURNING number
)
INSERT INTO log_line (log, number, line)
SELECT made.number, n, line FROM made, unnest(%(lines)s::bytea[]) WITH ORDINALITY AS l (line, n)
"""

_VECTORS = """
INSERT INTO vector_row (chat, is_addition, key, value)
SELECT %(chat)s, %(adds)s, key, value
FROM unnest(%(keys)s::bytea[], %(values)s::bytea[]) WITH ORDINALITY AS r (key, value, n) ORDER BY n
"""

_IDENTITY = """
SELECT pg_postmaster_start_time(), oid, to_regclass('chat')::oid FROM pg_database
    WHERE datname = current_database()
"""

_INSERTS = {
    "document": "INSERT INTO document VALUES (%(chat)s, %(name)s, nextval('revision'), %(body)s)",
    "vault document": """INSERT INTO vault_document
        VALUES (%(of)s, %(name)s, nextval('revision'), %(body)s)""",
    "answer": "INSERT INTO answer (chat, journal) VALUES (%(chat)s, %(body)s)",
    "log": _LOG,
    "vault log": _LOG,
    "blob": """INSERT INTO blob
        VALUES (%(name)s, %(about)s, %(body)s, %(text)s, to_timestamp(%(at)s / 1e9))""",
    "other": "INSERT INTO other_file VALUES (%(path)s, %(at)s, %(body)s)",
}


class DatabaseContents:
    """The contents of a database; satisfies `Contents`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pieces(self) -> list[StoredPiece]:
        def work(connection: Connection) -> list[StoredPiece]:
            beside = [_path(*row) for row in connection.execute(_BESIDE)]
            of_vault = [path for (path,) in connection.execute(_OF_VAULT, (FILES,))]
            others = connection.execute("SELECT path FROM other_file")
            known = [piece_at(path) for path in (*beside, *of_vault)]
            return [*known, *(StoredPiece(path=path, kind="other") for (path,) in others)]

        return sorted(self._database.run(work), key=lambda piece: piece.path)

    def read(self, piece: StoredPiece) -> Content:
        return self._database.run(lambda c: _read(c, piece), patience_s=_PATIENCE_S)

    def write(self, piece: StoredPiece, content: Content) -> PieceKind:
        return self._database.run(lambda c: _write(c, piece, content), patience_s=_PATIENCE_S)

    def identity(self) -> Hashable:
        """The server's start time, the database and its table of chats."""
        return self._database.run(lambda c: c.execute(_IDENTITY).fetchone())

    def close(self) -> None:
        self._database.close()


def _path(chat: str, deletion: str, suffix: str) -> str:
    return f"{TRASH}/{deletion}/{chat}.{suffix}" if deletion else f"{chat}.{suffix}"


def _read(connection: Connection, piece: StoredPiece) -> Content:
    if piece.kind == "chat":
        return _read_chat(connection, piece)
    if piece.kind == "blob":
        return _read_blob(connection, piece.name)
    asked = _asked(connection, piece)
    if statement := _BODIES.get(piece.kind):
        return Content(body=_one(connection, statement, asked))
    if piece.kind in ("log", "vault log"):
        return Content(body=joined(_lines(connection, asked)))
    return Content(body=_read_vectors(connection, piece, asked["chat"]))


def _read_chat(connection: Connection, piece: StoredPiece) -> Content:
    stored = read_chat(connection, piece.chat, deletion=piece.deletion)
    assert stored is not None  # noqa: S101 - it was listed
    values = connection.execute(
        "SELECT name, value, written_ns FROM chat_value JOIN chat ON chat = number"
        " WHERE chat = %s ORDER BY ordinal",
        (stored.number,),
    ).fetchall()
    version = stored.version
    encoded = {
        key: (version.other[key], value.encode())
        for name, value, _ in values
        for key in (read_json(name),)
    }
    body = Version(version.entries, version.other, version.place, encoded).encode()
    written = _one(
        connection, "SELECT written_ns FROM chat WHERE number = %(chat)s", {"chat": stored.number}
    )
    return Content(body=body, written_ns=written)


def _read_blob(connection: Connection, key: str) -> Content:
    found = connection.execute(
        "SELECT content, about, text, (extract(epoch FROM used_at) * 1000000)::bigint * 1000"
        " FROM blob WHERE key = %s",
        (key,),
    ).fetchone()
    assert found is not None  # noqa: S101 - it was listed
    body, about, text, written_ns = found
    return Content(body=body, about=about, text=text, written_ns=written_ns)


def _read_vectors(connection: Connection, piece: StoredPiece, chat: int) -> bytes:
    adds = piece.kind == "added vectors"
    head = connection.execute("SELECT model, width FROM vectors WHERE chat = %s", (chat,))
    found = head.fetchone()
    assert found is not None  # noqa: S101 - it was listed
    model, width = found
    rows = connection.execute(
        "SELECT key, value FROM vector_row WHERE chat = %s AND is_addition = %s ORDER BY number",
        (chat, adds),
        binary=True,
    ).fetchall()
    keys = [key.decode("utf-8", "surrogatepass") for key, _ in rows]
    values = np.frombuffer(b"".join(value for _, value in rows), dtype="<f4")
    matrix = values.reshape(len(keys), width)
    if adds:
        return journal_head(VectorHead(model, width)) + journal_records(keys, matrix)
    return b"".join(encoded_vectors(model, keys, matrix))


def _lines(connection: Connection, asked: dict[str, Any]) -> Sequence[bytes]:
    found = connection.execute(
        "SELECT line FROM log_line AS l JOIN log AS g ON g.number = l.log"
        " WHERE g.kind = %(of)s AND g.name = %(name)s"
        " AND (g.chat = %(chat)s OR g.chat IS NULL AND %(chat)s::bigint IS NULL)"
        " ORDER BY l.number",
        asked,
        binary=True,
    )
    return [line for (line,) in found]


def _asked(connection: Connection, piece: StoredPiece) -> dict[str, Any]:
    chat = _chat(connection, piece) if piece.chat else None
    return {"chat": chat, "name": piece.name, "of": piece.of, "path": piece.path}


def _chat(connection: Connection, piece: StoredPiece) -> int:
    """The row of a piece's chat, made where it is missing."""
    deleted_at = parsed_deletion(piece.deletion)[1] if piece.deletion else ""
    connection.execute(
        "INSERT INTO chat (id, deletion, deleted_at) VALUES (%s, %s, %s)"
        " ON CONFLICT (id, deletion) DO NOTHING",
        (piece.chat, piece.deletion, deleted_at),
    )
    asked = {"id": piece.chat, "deletion": piece.deletion}
    number: int = _one(
        connection, "SELECT number FROM chat WHERE id = %(id)s AND deletion = %(deletion)s", asked
    )
    return number


def _one(connection: Connection, statement: str, asked: dict[str, Any]) -> Any:
    found = connection.execute(statement.encode(), asked).fetchone()
    assert found is not None  # noqa: S101 - it was listed
    return found[0]


def _write(connection: Connection, piece: StoredPiece, content: Content) -> PieceKind:
    if piece.kind == "chat":
        version = raw_version(content.body)
        number = _chat(connection, piece)
        write_chat(connection, piece.chat, number, version, None, content.written_ns)
        return piece.kind
    asked = _asked(connection, piece)
    kind = piece.kind
    if kind in ("vectors", "added vectors"):
        if _write_vectors(connection, piece, content.body, asked["chat"]):
            return kind
        kind = "other"  # of another model than the stored vectors
    lines = list(lines_of(content.body)) if kind in ("log", "vault log") else []
    more = {
        "body": content.body,
        "at": content.written_ns,
        "about": content.about,
        "text": content.text,
        "lines": lines,
        "count": len(lines),
    }
    connection.execute(_INSERTS[kind].encode(), {**asked, **more})
    return kind


def _write_vectors(connection: Connection, piece: StoredPiece, body: bytes, chat: int) -> bool:
    """Write vectors; false if the chat has vectors of another model."""
    adds = piece.kind == "added vectors"
    head, keys, rows = _parsed(body, adds=adds)
    connection.execute(
        "INSERT INTO vectors VALUES (%s, %s, %s) ON CONFLICT (chat) DO UPDATE"
        " SET lacks_meanings = true",
        (chat, *head),
    )
    there = connection.execute("SELECT model, width FROM vectors WHERE chat = %s", (chat,))
    if there.fetchone() != tuple(head):
        return False
    asked = {
        "chat": chat,
        "adds": adds,
        "keys": [key.encode("utf-8", "surrogatepass") for key in keys],
        "values": [row.tobytes() for row in rows.astype("<f4", copy=False)],
    }
    connection.execute(_VECTORS, asked)
    return True


def _parsed(body: bytes, *, adds: bool) -> tuple[VectorHead, list[str], Matrix]:
    if adds:
        head, keys, rows, _ = parsed_journal(body)
        return head, keys, rows
    return parsed_vectors(body)
