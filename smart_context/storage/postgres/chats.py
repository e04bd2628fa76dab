"""The chats in PostgreSQL: a row for each message, and a save writes what changed."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from smart_context.base.errors import CommandFailed
from smart_context.chat.documents.document import Version, read_json
from smart_context.chat.documents.merge import merge
from smart_context.chat.messages import ChatId
from smart_context.storage.deletions import check_deletion
from smart_context.storage.merging import ChatLocks, MergingChats
from smart_context.storage.postgres.changes import Changes, tell_others
from smart_context.storage.postgres.database import Connection, Database
from smart_context.storage.postgres.listening import Listener
from smart_context.storage.postgres.listing import PostgresList
from smart_context.storage.postgres.meanings import Meanings
from smart_context.storage.postgres.places import locked_place
from smart_context.storage.postgres.rows import StoredChat, read_chat, write_chat
from smart_context.storage.postgres.trash import PostgresTrash, move_back, move_to_trash

T = TypeVar("T")

_VALUE = """
SELECT c.number, c.revision, v.value FROM chat AS c
LEFT JOIN chat_value AS v ON v.chat = c.number AND v.name = %s
WHERE c.id = %s AND c.deletion = '' AND c.revision IS NOT NULL
"""


class PostgresVersions:
    """The newest version of each chat; satisfies `VersionStore`."""

    def __init__(self, database: Database, listener: Listener, meanings: Meanings) -> None:
        self._database = database
        self.listing = PostgresList(database, meanings)
        self.changes = Changes(database, listener)
        self.trash = PostgresTrash(database)

    async def run(self, chat: ChatId, work: Callable[[], T]) -> T:  # noqa: ARG002 - no damage here
        """Run blocking work in a thread, until its end."""
        return await self._database.in_thread(work)

    def read(self, chat: ChatId, known: StoredChat | None) -> StoredChat | None:
        """The stored version; `known` itself if nothing has changed."""
        return self._database.run(
            lambda connection: read_chat(connection, chat, known), repeatable=True
        )

    def put(self, chat: ChatId, version: Version, read: StoredChat | None) -> StoredChat:
        """Store a version that was derived from `read`, merged with changes since then."""

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
        """One of the document's other values; the whole is not read for it."""
        name = encoded_name(key)
        found = self._database.run(
            lambda connection: connection.execute(_VALUE, (name, chat)).fetchone(), repeatable=True
        )
        if found is None:
            return None, None
        number, revision, value = found
        if known is not None and (known.number, known.revision) == (number, revision):
            return known.version.other.get(key), known
        return None if value is None else read_json(value), None

    def exists(self, chat: ChatId) -> bool:
        """True if the chat has a document."""
        found = self._database.run(
            lambda connection: connection.execute(
                "SELECT FROM chat WHERE id = %s AND deletion = '' AND revision IS NOT NULL",
                (chat,),
            ).fetchone(),
            repeatable=True,
        )
        return found is not None

    def tell(self, chat: ChatId, stored: StoredChat) -> None:
        """Report that this version was stored."""
        self.changes.tell(chat, stored.revision)

    async def delete(self, chat: ChatId) -> None:
        """Move the chat, and what stands beside it, to the trash."""

        def work(connection: Connection) -> None:
            if not move_to_trash(connection, chat):
                raise CommandFailed(f"There is no chat {chat!r} to delete.")
            tell_others(connection, self.changes.node, chat, None)

        await self._database.do(work)
        self.changes.tell(chat, None)

    async def restore(self, chat: ChatId, deletion: str) -> None:
        """Restore a deleted chat."""
        check_deletion(chat, deletion)

        def work(connection: Connection) -> int:
            revision = move_back(connection, chat, deletion)
            tell_others(connection, self.changes.node, chat, revision)
            return revision

        self.changes.tell(chat, await self._database.do(work))

    async def close(self) -> None:
        """Forget the listeners."""
        self.changes.close()


def encoded_name(key: str) -> str:
    """The name of a value's row."""
    return json.dumps(key)


def postgres_chats(
    database: Database, listener: Listener, meanings: Meanings
) -> MergingChats[StoredChat]:
    """The chats of the vault that a database holds."""
    return MergingChats(PostgresVersions(database, listener, meanings), ChatLocks())
