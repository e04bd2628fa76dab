"""Logs in PostgreSQL: a row for each line."""

from dataclasses import asdict

from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import ChatId
from smart_context.storage.ports import Limits, Revision
from smart_context.storage.postgres.database import Database, locked_place, row, rows
from smart_context.storage.postgres.schema import Connection

_FOUND = """
SELECT number, added FROM log WHERE kind = %(kind)s AND name = %(name)s AND (
    chat = (SELECT number FROM chat WHERE id = %(chat)s AND deletion = '')
    OR chat IS NULL AND %(chat)s::text IS NULL)
"""
"""Written to use the index: `IS NOT DISTINCT FROM` would read the logs of all chats."""

_SINCE = """
SELECT l.number, l.line FROM log JOIN log_line AS l ON l.log = log.number
WHERE log.kind = %(kind)s AND log.name = %(name)s AND (
    log.chat = (SELECT number FROM chat WHERE id = %(chat)s AND deletion = '')
    OR log.chat IS NULL AND %(chat)s::text IS NULL) AND l.number > %(place)s
ORDER BY l.number
"""

_ADD = """
INSERT INTO log (chat, kind, name, added) VALUES (%s, %s, %s, %s)
ON CONFLICT (chat, kind, name) DO UPDATE SET added = log.added + excluded.added
RETURNING number, added
"""

_FULL = """
SELECT count(*) > %(lines)s + %(slack)s OR coalesce(sum(length(line) + 1), 0) > %(bytes)s
FROM log_line WHERE log = %(log)s
"""

_DROP = """
DELETE FROM log_line AS l USING (
    SELECT number, row_number() OVER newest AS place, sum(length(line) + 1) OVER newest AS bytes
    FROM log_line WHERE log = %(log)s WINDOW newest AS (ORDER BY number DESC)
) AS o
WHERE l.log = %(log)s AND l.number = o.number
    AND (o.place > %(lines)s OR o.bytes > %(bytes)s * 3 / 4)
"""


class PostgresLogs:
    """The logs of a database; satisfies `Logs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> "PostgresLog":
        chat = check_chat_id(chat_id)
        sidecar_name(chat, f"{name}.jsonl")  # refuses a bad name
        return PostgresLog(self._database, chat, "", name, limits)

    def of_vault(self, kind: str, key: str) -> "PostgresLog":
        return PostgresLog(self._database, None, kind, key, None)


class PostgresLog:
    """One log; satisfies `Log`."""

    def __init__(
        self, database: Database, chat: ChatId | None, kind: str, name: str, limits: Limits | None
    ) -> None:
        self._database = database
        self._chat = chat
        self._asked = {"chat": chat, "kind": kind, "name": name}
        self._limits = limits

    async def append(self, *lines: bytes) -> Revision | None:
        if not lines:
            return await self.revision()
        return await self._database.do(lambda connection: self._append(connection, lines))

    async def revision(self) -> Revision | None:
        """The number of lines ever added."""
        found = await self._database.do(row(_FOUND, self._asked), repeatable=True)
        return (found and found[1]) or None

    async def lines(self) -> list[bytes]:
        return (await self.since(0))[0]

    async def since(self, place: int) -> tuple[list[bytes], int]:
        asked = {**self._asked, "place": place}
        found = await self._database.do(rows(_SINCE, asked, binary=True), repeatable=True)
        last = found[-1][0] if found else place
        return [line for _, line in found if line.strip()], last

    def _append(self, connection: Connection, lines: tuple[bytes, ...]) -> Revision | None:
        place = None if self._chat is None else locked_place(connection, self._chat)
        added = connection.execute(
            _ADD, (place, self._asked["kind"], self._asked["name"], len(lines))
        ).fetchone()
        assert added is not None  # noqa: S101 - what was written is returned
        log, last = added
        connection.execute(
            "INSERT INTO log_line (log, number, line) SELECT %s, %s + n, line"
            " FROM unnest(%s::bytea[]) WITH ORDINALITY AS l (line, n)",
            (log, last - len(lines), list(lines)),
        )
        if self._limits is not None:
            asked = {"log": log, **asdict(self._limits)}
            if connection.execute(_FULL, asked).fetchone() == (True,):
                connection.execute(_DROP, asked)
        return last or None
