"""JSON objects in PostgreSQL: of chats, and of the vault as a whole."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from smart_context.base.errors import StorageAway, StoreFailed
from smart_context.base.values import JsonObject, encoded, parsed
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.storage.names import key_of, name_of
from smart_context.storage.ports import Conflict, Document, Revision
from smart_context.storage.postgres.database import Database, count, locked_place, row, rows
from smart_context.storage.postgres.listening import tell_of_document
from smart_context.storage.postgres.schema import Connection

_READ = """
SELECT d.name, d.revision, CASE WHEN d.revision = k.revision THEN NULL ELSE d.content END
FROM chat AS c JOIN document AS d ON d.chat = c.number
JOIN unnest(%s::text[], %s::bigint[]) AS k (name, revision) ON k.name = d.name
WHERE c.id = %s AND c.deletion = ''
"""

_REPLACE = """
INSERT INTO document (chat, name, revision, content)
VALUES (%(chat)s, %(name)s, nextval('revision'), %(content)s)
ON CONFLICT (chat, name) DO UPDATE SET revision = excluded.revision, content = excluded.content
RETURNING revision
"""

_KEEP_COPY = """
INSERT INTO document (chat, name, revision, content)
SELECT chat, name || '.damaged-' || revision, nextval('revision'), content
FROM document WHERE chat = %s AND name = %s
ON CONFLICT DO NOTHING
"""

_ADD = """
INSERT INTO vault_document (kind, name, revision, content) VALUES (%s, %s, nextval('revision'), %s)
ON CONFLICT (kind, name) DO """

_WRITE = f"{_ADD}UPDATE SET revision = excluded.revision, content = excluded.content"


class PostgresDocuments:
    """The objects of the chats; satisfies `ChatDocuments`."""

    def __init__(self, database: Database, node: str) -> None:
        self._database = database
        self._node = node

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        chat = check_chat_id(chat_id)
        for name in names:
            sidecar_name(chat, name)  # refuses a bad name
        before = dict(zip(names, known, strict=False))
        revisions = [getattr(before.get(name), "revision", None) for name in names]
        asked = list(names), revisions, chat
        try:
            found = await self._database.do(rows(_READ, asked), repeatable=True)
        except StorageAway:
            if len(before) < len(names):
                raise
            return tuple(before.values())
        stored = {
            name: before[name] if content is None else _document(content, revision)
            for name, revision, content in found
        }
        return tuple(stored.get(name) or _none(before.get(name)) for name in names)

    async def replace(
        self,
        chat_id: str,
        name: str,
        value: Mapping[str, Any],
        *,
        expected: Revision | None,
        keeps_copy: bool = False,
    ) -> Document:
        chat = check_chat_id(chat_id)
        sidecar_name(chat, name)  # refuses a bad name
        content = encoded(value)

        def work(connection: Connection) -> Document:
            place = locked_place(connection, chat)
            found = connection.execute(
                "SELECT revision FROM document WHERE chat = %s AND name = %s", (place, name)
            ).fetchone()
            if (found and found[0]) != expected:
                raise Conflict(f"{chat}.{name}")
            if keeps_copy:
                connection.execute(_KEEP_COPY, (place, name))
            asked = {"chat": place, "name": name, "content": content}
            revision = connection.execute(_REPLACE, asked).fetchone()
            assert revision is not None  # noqa: S101 - what was written is returned
            tell_of_document(connection, self._node, chat)
            return Document(value=dict(value), revision=revision[0])

        return await self._database.do(work)


def _document(content: bytes, revision: Revision) -> Document:
    value = parsed(content)
    return Document(value=value or {}, revision=revision, is_damaged=value is None)


def _none(before: Document | None) -> Document:
    return before if before is not None and before.revision is None else Document()


class PostgresVaultDocuments:
    """The objects of the vault as a whole; satisfies `VaultDocuments`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, kind: str, key: str) -> JsonObject | None:
        try:
            asked = kind, name_of(key)
        except ValueError:
            return None
        statement = "SELECT content FROM vault_document WHERE kind = %s AND name = %s"
        found = self._database.run(row(statement, asked), repeatable=True)
        if found is None:
            return None
        try:
            value: JsonObject = json.loads(found[0])
        except (ValueError, RecursionError) as error:
            raise StoreFailed(f"{kind} {key!r} can't be read: {error}.") from error
        return value

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        asked = kind, name_of(key), encoded(value, indent=2)
        self._database.run(count(_WRITE, asked))
        return f"{kind} {key!r} in the {self._database.where}"

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        asked = kind, name_of(key), encoded(value, indent=2)
        return bool(self._database.run(count(f"{_ADD}NOTHING", asked)))

    def delete(self, kind: str, key: str) -> bool:
        try:
            asked = kind, name_of(key)
        except ValueError:
            return False
        statement = "DELETE FROM vault_document WHERE kind = %s AND name = %s"
        return bool(self._database.run(count(statement, asked)))

    def keys(self, kind: str) -> list[str]:
        statement = "SELECT name FROM vault_document WHERE kind = %s"
        found = self._database.run(rows(statement, (kind,)), repeatable=True)
        return sorted(key_of(name) for (name,) in found)
