"""Attached files in PostgreSQL, each stored once under the hash of its content."""

from collections.abc import Sequence
from typing import Any

from smart_context.base.values import encoded, parsed
from smart_context.chat.files.attached_file import (
    AttachedFile,
    ReadText,
    described,
    examined,
    image_uri,
    is_key,
    text_in,
)
from smart_context.storage.ports import KEPT_S
from smart_context.storage.postgres.database import Database, count, row
from smart_context.storage.postgres.schema import Connection

_PUT = """
INSERT INTO blob (key, about, content, text) VALUES (%s, %s, %s, %s)
ON CONFLICT (key) DO UPDATE SET about = excluded.about, text = excluded.text,
    used_at = clock_timestamp()
"""

_REMOVE = r"""
WITH named AS (
    SELECT line AS text FROM message WHERE line ~ '[0-9a-f]{64}'
    UNION ALL SELECT value FROM chat_value WHERE value ~ '[0-9a-f]{64}'
    UNION ALL SELECT encode(content, 'escape') FROM document
    UNION ALL SELECT encode(content, 'escape') FROM vault_document
    UNION ALL SELECT encode(line, 'escape') FROM log_line
    UNION ALL SELECT encode(journal, 'escape') FROM answer
), found AS (
    SELECT DISTINCT m[1] AS key
    FROM named, regexp_matches(text, '(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])', 'g') AS m
)
DELETE FROM blob WHERE used_at < to_timestamp(%s)
    AND NOT EXISTS (SELECT FROM found WHERE found.key = blob.key)
RETURNING key
"""

_CLEARING = 0x5343_636C_6561_7265  # any number that no other code locks
_CLEARING_S = 600.0


class PostgresBlobs:
    """The attached files of messages; satisfies `Blobs`."""

    def __init__(self, database: Database, read_text: ReadText) -> None:
        self._database = database
        self._read_text = read_text

    async def put(self, name: str, content: bytes) -> AttachedFile:
        def work() -> AttachedFile:
            file, text = examined(name, content, self._read_text)
            asked = file.storage_key, encoded(file.to_dict()), content, text
            self._database.run(count(_PUT, asked))
            return file

        return await self._database.in_thread(work)

    async def info(self, key: str) -> AttachedFile | None:
        found = await self._row("SELECT about, length(content) FROM blob WHERE key = %s", key)
        return None if found is None else described(key, parsed(found[0]) or {}, found[1])

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        found = await self._row(
            "SELECT text, CASE WHEN text IS NULL THEN content END FROM blob WHERE key = %s", id
        )
        if found is None:
            return None
        text, content = found
        return text_in(id, content) if text is None else text.decode("utf-8", "replace")

    async def content(self, key: str) -> bytes | None:
        found: tuple[bytes] | None = await self._row("SELECT content FROM blob WHERE key = %s", key)
        return None if found is None else found[0]

    async def data_uri(self, key: str) -> str | None:
        return image_uri(await self.content(key))

    async def keep(self, key: str) -> None:
        await self._row(
            "UPDATE blob SET used_at = clock_timestamp() WHERE key = %s RETURNING key", key
        )

    def remove_unused(self, now: float) -> Sequence[str]:
        """Remove files that were not used for a week and that nothing names; returns their keys."""

        def work(connection: Connection) -> Sequence[str]:
            asked = connection.execute("SELECT pg_try_advisory_xact_lock(%s)", (_CLEARING,))
            if asked.fetchone() != (True,):  # another process is doing it
                return []
            removed = connection.execute(_REMOVE, (now - KEPT_S,))
            return sorted(key for (key,) in removed)

        return self._database.run(work, patience_s=_CLEARING_S)

    async def _row(self, statement: str, key: str) -> tuple[Any, ...] | None:
        if not is_key(key):
            return None
        found: tuple[Any, ...] | None = await self._database.do(row(statement, (key,), binary=True))
        return found
