"""The deleted chats in PostgreSQL; their rows stay where they are, under the deletion's name."""

from datetime import datetime

from psycopg import errors

from smart_context.base.values import PersonId
from smart_context.chat.listed.rows import MOST_LISTED, DeletedChat
from smart_context.chat.messages import ChatId
from smart_context.storage.deletions import (
    MOST_AT_ONCE,
    check_deletion,
    deletion_name,
    exists_again,
    not_in_trash,
    parsed_deletion,
)
from smart_context.storage.postgres.database import Connection, Database

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
        """A person's deleted chats, newest first, at most `MOST_LISTED`, and the number of all."""

        def work(connection: Connection) -> tuple[list[DeletedChat], int]:
            found = connection.execute(
                "SELECT deletion, id, title, message_count, deleted_at, count(*) OVER ()"
                " FROM chat AS c WHERE owns(c, %s) AND deletion <> ''"
                " ORDER BY deleted_at DESC, right(deletion, 4) DESC, deletion DESC LIMIT %s",
                (person, MOST_LISTED),
            ).fetchall()
            chats = [DeletedChat(*row[:5]) for row in found]
            return chats, found[0][5] if found else 0

        return await self._database.do(work)

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        """The ids of all of a person's deleted chats, however many."""
        found = await self._database.do(
            lambda connection: connection.execute(
                "SELECT DISTINCT id FROM chat AS c WHERE owns(c, %s) AND deletion <> ''",
                (person,),
            ).fetchall()
        )
        return frozenset(ChatId(chat) for (chat,) in found)

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        """Whose the chat was that was last deleted under an id; `None` if there is none."""
        found = await self._database.do(
            lambda connection: connection.execute(
                "SELECT person FROM chat WHERE id = %s AND deletion <> ''"
                " ORDER BY deletion DESC LIMIT 1",
                (chat_id,),
            ).fetchone(),
            repeatable=True,
        )
        return found and PersonId(found[0])

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        """Remove a deleted chat for ever; returns the number of deletions removed."""
        check_deletion(chat_id, deletion)
        removed = await self._database.do(
            lambda connection: (
                connection.execute(
                    "DELETE FROM chat WHERE id = %s AND deletion <> '' AND %s IN ('', deletion)",
                    (chat_id, deletion),
                ).rowcount
            )
        )
        if not removed:
            raise not_in_trash(chat_id)
        return removed

    async def empty(self, person: PersonId, until: str = "") -> int:
        """Remove a person's deleted chats for ever; returns the number of deletions removed."""
        return await self._database.do(
            lambda connection: (
                connection.execute(
                    "DELETE FROM chat AS c WHERE owns(c, %s) AND deletion <> ''"
                    " AND (%s = '' OR deleted_at <= %s)",
                    (person, until, until),
                ).rowcount
            )
        )


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

    What was written beside the chat meanwhile is replaced.

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
    """Move what stands beside one row to another that lacks it, and remove the first."""
    for statement in _MOVES:
        connection.execute(statement, {"from": source, "to": target})
