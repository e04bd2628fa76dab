"""The list of chats in PostgreSQL, and the search in them."""

import json
from collections.abc import MutableMapping
from typing import Any

from cachetools import LRUCache

from smart_context.base.errors import StorageAway
from smart_context.base.values import PersonId
from smart_context.chat.documents.document import MessageEntry, read_json
from smart_context.chat.listed.rows import ChatRow
from smart_context.chat.listed.search import (
    HITS_PER_CHAT,
    MOST_HITS,
    ChatHit,
    query_words,
    snippet,
)
from smart_context.chat.messages import ChatId, MessageId
from smart_context.storage.ports import Faults, Floats, NearMessage
from smart_context.storage.postgres.database import Connection, Database
from smart_context.storage.postgres.meanings import Meanings
from smart_context.storage.postgres.rows import storable

_MOST_PERSONS = 200
"""Whose lists are remembered, to be shown while the database is away."""

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

    def __init__(self, database: Database, meanings: Meanings) -> None:
        self._database = database
        self._meanings = meanings
        self._known: MutableMapping[PersonId, tuple[ChatRow, ...]] = LRUCache(_MOST_PERSONS)

    async def rows(self, person: PersonId) -> list[ChatRow]:
        """All chats of a person, newest first."""

        def work(connection: Connection) -> list[ChatRow]:
            return [_row(*found) for found in connection.execute(_ROWS, (person,))]

        try:
            rows = await self._database.do(work, repeatable=True)
        except StorageAway:
            if person not in self._known:
                raise
            return [*self._known[person]]
        self._known[person] = tuple(rows)
        return rows

    async def revisions(self, person: PersonId, *beside: str) -> dict[ChatId, str]:
        """The revisions of the rows."""

        def work(connection: Connection) -> dict[ChatId, str]:
            rows = connection.execute(_REVISIONS, (list(beside), person))
            return {ChatId(id_): state for id_, state in rows}

        return await self._database.do(work, repeatable=True)

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        """The messages and titles that contain all words of the query, newest chats first."""
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

    async def faults(self) -> Faults:
        """None: what is stored can be read."""
        return Faults((), ())


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
    """A word as a pattern that means itself."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
