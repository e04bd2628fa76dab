"""The chats in PostgreSQL, with their list and their trash; a row for each message.

A save writes only changed rows. The rows of deleted chats are kept, under the name of the deletion.
"""

import json
from collections.abc import Callable, MutableMapping
from datetime import datetime
from typing import Any, TypeVar

from cachetools import LRUCache
from psycopg import errors

from smart_context.base.errors import CommandFailed, StorageAway
from smart_context.base.values import PersonId
from smart_context.chat.documents.document import MessageEntry, Version, read_json
from smart_context.chat.documents.merge import merge
from smart_context.chat.listed.rows import MOST_LISTED, ChatRow, DeletedChat
from smart_context.chat.listed.search import (
    HITS_PER_CHAT,
    MOST_HITS,
    ChatHit,
    query_words,
    snippet,
)
from smart_context.chat.messages import ChatId, MessageId
from smart_context.storage.merging import ChatLocks, MergingChats
from smart_context.storage.names import (
    MOST_AT_ONCE,
    check_deletion,
    deletion_name,
    exists_again,
    not_in_trash,
    parsed_deletion,
)
from smart_context.storage.ports import Floats, NearMessage, StorageFaults
from smart_context.storage.postgres.database import Database, count, locked_place, row, rows
from smart_context.storage.postgres.listening import Changes, Listener, tell_others
from smart_context.storage.postgres.rows import StoredChat, read_chat, storable, write_chat
from smart_context.storage.postgres.schema import Connection
from smart_context.storage.postgres.vectors import VectorSearch

_MOST_PERSONS = 200
"""The most persons whose lists are remembered, to be shown while the database is away."""

_ROWS = """
SELECT id, title, message_count, updated_at, preview, client, topics, person, shared,
    folder, pinned, archived
FROM chat AS c
WHERE may_use(c, %s) AND deletion = '' AND revision IS NOT NULL
ORDER BY updated_at DESC, written_ns DESC, id DESC
"""

_REVISIONS = """
SELECT id, concat_ws(' ', c.revision, (
    SELECT string_agg(d.name || ':' || d.revision, ' ' ORDER BY d.name) FROM document AS d
    WHERE d.chat = c.number AND d.name = ANY (%s)))
FROM chat AS c
WHERE may_use(c, %s) AND deletion = '' AND revision IS NOT NULL
"""

_HITS = """
WITH hit AS (
    SELECT c.number, NULL::bigint AS position, NULL AS line FROM chat AS c
    WHERE may_use(c, %(person)s) AND deletion = '' AND revision IS NOT NULL
        AND title_words LIKE ALL (%(words)s)
    UNION ALL
    SELECT c.number, m.position, m.line FROM message AS m JOIN chat AS c ON c.number = m.chat
    WHERE may_use(c, %(person)s) AND deletion = '' AND c.revision IS NOT NULL
        AND m.words LIKE ALL (%(words)s)
), numbered AS (
    SELECT *, row_number() OVER (PARTITION BY number ORDER BY position DESC NULLS FIRST) AS place
    FROM hit
)
SELECT c.id, c.title, h.position, h.line,
    (SELECT count(*) FROM message WHERE chat = h.number AND position < h.position)
FROM numbered AS h JOIN chat AS c ON c.number = h.number
WHERE h.place <= %(each)s
ORDER BY c.updated_at DESC, c.written_ns DESC, c.id DESC, h.place
LIMIT %(limit)s
"""


class PostgresList:
    """The chats of a database, one row each; satisfies `ChatList`."""

    def __init__(self, database: Database, meanings: VectorSearch) -> None:
        self._database = database
        self._meanings = meanings
        self._known: MutableMapping[PersonId, tuple[ChatRow, ...]] = LRUCache(_MOST_PERSONS)

    async def rows(self, person: PersonId) -> list[ChatRow]:
        def work(connection: Connection) -> list[ChatRow]:
            return [_row(*found) for found in connection.execute(_ROWS, (person,))]

        try:
            found = await self._database.do(work, repeatable=True)
        except StorageAway:
            if person not in self._known:
                raise
            return [*self._known[person]]
        self._known[person] = tuple(found)
        return found

    async def revisions(self, person: PersonId, *beside: str) -> dict[ChatId, str]:
        """The revisions of the rows."""
        found = await self._database.do(rows(_REVISIONS, (list(beside), person)), repeatable=True)
        return {ChatId(id_): state for id_, state in found}

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        words = query_words(query)
        if not words or limit <= 0:
            return []
        asked = {
            "person": person,
            "words": [f"%{_literal(storable(word))}%" for word in words],
            "each": HITS_PER_CHAT,
            "limit": limit,
        }

        def work(connection: Connection) -> list[ChatHit]:
            return [_hit(words, *found) for found in connection.execute(_HITS, asked)]

        return await self._database.do(work)

    async def nearest(
        self, person: PersonId, model: str, query: Floats, limit: int, without: ChatId
    ) -> list[NearMessage] | None:
        """The messages that are nearest in meaning, by pgvector; `None` where that is missing."""
        return await self._meanings.nearest(person, storable(model), query, limit, without)

    async def faults(self) -> StorageFaults:
        """No faults: everything in the database can be read."""
        return StorageFaults((), ())


def _row(chat: str, title: str, *rest: Any) -> ChatRow:
    message_count, updated_at, preview, client, topics, person, shared, *arranged = rest
    folder, pinned, archived = arranged
    return ChatRow(
        id=ChatId(chat),
        title=title,
        message_count=message_count,
        updated_at=updated_at,
        preview=preview,
        client=client,
        topics=tuple(json.loads(topics)),
        person=PersonId(person),
        shared=shared,
        folder=folder,
        pinned=pinned,
        archived=archived,
    )


def _hit(
    words: tuple[str, ...], chat: str, title: str, position: int | None, line: str, index: int
) -> ChatHit:
    message = None if position is None else MessageEntry(read_json(line)).message(index)
    return ChatHit(
        chat_id=ChatId(chat),
        title=title,
        message_id=message.id if message else MessageId(""),
        snippet=snippet(message.text if message else title, words),
    )


def _literal(word: str) -> str:
    """A word as a `LIKE` pattern that matches just this word."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_DELETED = """
SELECT deletion, id, title, message_count, deleted_at, count(*) OVER ()
FROM chat AS c WHERE owns(c, %s) AND deletion <> ''
ORDER BY deleted_at DESC, right(deletion, 4) DESC, deletion DESC LIMIT %s
"""

_MOVES = (
    """UPDATE document AS d SET chat = %(to)s WHERE chat = %(from)s AND NOT EXISTS
    (SELECT FROM document WHERE chat = %(to)s AND name = d.name)""",
    """UPDATE log AS l SET chat = %(to)s WHERE chat = %(from)s AND NOT EXISTS
    (SELECT FROM log WHERE chat = %(to)s AND kind = l.kind AND name = l.name)""",
    """UPDATE answer SET chat = %(to)s WHERE chat = %(from)s AND NOT EXISTS
    (SELECT FROM answer WHERE chat = %(to)s)""",
    "DELETE FROM chat WHERE number = %(from)s",
)


class PostgresTrash:
    """The deleted chats of a database; satisfies `ChatTrash`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        found = await self._database.do(rows(_DELETED, (person, MOST_LISTED)))
        return [DeletedChat(*each[:5]) for each in found], found[0][5] if found else 0

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        statement = "SELECT DISTINCT id FROM chat AS c WHERE owns(c, %s) AND deletion <> ''"
        found = await self._database.do(rows(statement, (person,)))
        return frozenset(ChatId(chat) for (chat,) in found)

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        statement = """SELECT person FROM chat WHERE id = %s AND deletion <> ''
            ORDER BY deletion DESC LIMIT 1"""
        found = await self._database.do(row(statement, (chat_id,)), repeatable=True)
        return found and PersonId(found[0])

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        check_deletion(chat_id, deletion)
        statement = "DELETE FROM chat WHERE id = %s AND deletion <> '' AND %s IN ('', deletion)"
        removed = await self._database.do(count(statement, (chat_id, deletion)))
        if not removed:
            raise not_in_trash(chat_id)
        return removed

    async def empty(self, person: PersonId, until: str = "") -> int:
        statement = """DELETE FROM chat AS c WHERE owns(c, %s) AND deletion <> ''
            AND (%s = '' OR deleted_at <= %s)"""
        return await self._database.do(count(statement, (person, until, until)))


def move_to_trash(connection: Connection, chat: ChatId) -> bool:
    """Move a chat to the trash; false if there is no such chat."""
    found = connection.execute(
        "SELECT number, clock_timestamp() AT TIME ZONE 'UTC' FROM chat"
        " WHERE id = %s AND deletion = '' AND revision IS NOT NULL FOR UPDATE",
        (chat,),
    ).fetchone()
    if found is None:
        return False
    number, now = found
    name = _free_name(connection, chat, now)
    connection.execute(
        "UPDATE chat SET deletion = %s, deleted_at = %s WHERE number = %s",
        (name, parsed_deletion(name)[1], number),
    )
    return True


def _free_name(connection: Connection, chat: ChatId, now: datetime) -> str:
    taken = {
        name for (name,) in connection.execute("SELECT deletion FROM chat WHERE id = %s", (chat,))
    }
    names = (deletion_name(chat, now, number) for number in range(1, MOST_AT_ONCE + 1))
    return next(name for name in names if name not in taken)


def move_back(connection: Connection, chat: ChatId, deletion: str) -> int:
    """Restore a chat, by default from its latest deletion; returns its new revision.

    Data of the chat that was written meanwhile is replaced.

    Raises:
        CommandFailed: It is not in the trash, or a chat with this id exists again.
    """
    found = connection.execute(
        "SELECT number FROM chat WHERE id = %s AND deletion <> '' AND %s IN ('', deletion)"
        " ORDER BY deletion DESC LIMIT 1 FOR UPDATE",
        (chat, deletion),
    ).fetchone()
    if found is None:
        raise not_in_trash(chat)
    (number,) = found
    there = connection.execute(
        "SELECT number, revision FROM chat WHERE id = %s AND deletion = '' FOR UPDATE", (chat,)
    ).fetchone()
    if there is not None and there[1] is not None:
        raise exists_again(chat)
    if there is not None:
        _take_over(connection, there[0], number)
    try:
        restored = connection.execute(
            "UPDATE chat SET deletion = '', deleted_at = '', revision = nextval('revision')"
            " WHERE number = %s RETURNING revision",
            (number,),
        ).fetchone()
    except errors.UniqueViolation:
        raise exists_again(chat) from None
    assert restored is not None  # noqa: S101 - its row is locked
    return int(restored[0])


def _take_over(connection: Connection, source: int, target: int) -> None:
    """Move data of one chat's row to another row that lacks it, and remove the first."""
    for statement in _MOVES:
        connection.execute(statement, {"from": source, "to": target})


T = TypeVar("T")

_VALUE = """
SELECT c.number, c.revision, v.value FROM chat AS c
LEFT JOIN chat_value AS v ON v.chat = c.number AND v.name = %s
WHERE c.id = %s AND c.deletion = '' AND c.revision IS NOT NULL
"""


class PostgresVersions:
    """The newest version of each chat; satisfies `VersionStore`."""

    def __init__(self, database: Database, listener: Listener, meanings: VectorSearch) -> None:
        self._database = database
        self.listing = PostgresList(database, meanings)
        self.changes = Changes(database, listener)
        self.trash = PostgresTrash(database)

    async def run(self, chat: ChatId, work: Callable[[], T]) -> T:  # noqa: ARG002 - no damage here
        return await self._database.in_thread(work)

    def read(self, chat: ChatId, known: StoredChat | None) -> StoredChat | None:
        return self._database.run(
            lambda connection: read_chat(connection, chat, known), repeatable=True
        )

    def put(self, chat: ChatId, version: Version, read: StoredChat | None) -> StoredChat:
        def work(connection: Connection) -> StoredChat:
            number = locked_place(connection, chat)
            newest = read_chat(connection, chat, read)
            ours = version
            if newest is not None and newest is not read:
                base = read.version if read else Version()
                ours = merge(base, newest.version, version)
                if ours.says_the_same(newest.version):
                    return newest
            stored = write_chat(connection, chat, number, ours, newest)
            tell_others(connection, self.changes.node, chat, stored.revision)
            return stored

        return self._database.run(work)

    def value(
        self, chat: ChatId, key: str, known: StoredChat | None
    ) -> tuple[Any, StoredChat | None]:
        """One of the document's other values, read alone."""
        name = encoded_name(key)
        found = self._database.run(row(_VALUE, (name, chat)), repeatable=True)
        if found is None:
            return None, None
        number, revision, value = found
        if known is not None and (known.number, known.revision) == (number, revision):
            return known.version.other.get(key), known
        return None if value is None else read_json(value), None

    def exists(self, chat: ChatId) -> bool:
        statement = "SELECT FROM chat WHERE id = %s AND deletion = '' AND revision IS NOT NULL"
        return self._database.run(row(statement, (chat,)), repeatable=True) is not None

    def tell(self, chat: ChatId, stored: StoredChat) -> None:
        self.changes.tell(chat, stored.revision)

    async def delete(self, chat: ChatId) -> None:
        def work(connection: Connection) -> None:
            if not move_to_trash(connection, chat):
                raise CommandFailed(f"There is no chat {chat!r} to delete.")
            tell_others(connection, self.changes.node, chat, None)

        await self._database.do(work)
        self.changes.tell(chat, None)

    async def restore(self, chat: ChatId, deletion: str) -> None:
        check_deletion(chat, deletion)

        def work(connection: Connection) -> int:
            revision = move_back(connection, chat, deletion)
            tell_others(connection, self.changes.node, chat, revision)
            return revision

        self.changes.tell(chat, await self._database.do(work))

    async def close(self) -> None:
        self.changes.close()


def encoded_name(key: str) -> str:
    """The name of a value's row."""
    return json.dumps(key)


def postgres_chats(
    database: Database, listener: Listener, meanings: VectorSearch
) -> MergingChats[StoredChat]:
    """The chats of the vault that a database holds."""
    return MergingChats(PostgresVersions(database, listener, meanings), ChatLocks())
