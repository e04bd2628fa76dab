"""All storage of a vault in a PostgreSQL database."""

from collections.abc import Awaitable, Callable, Sequence

from smart_context.base.caches import Caches
from smart_context.chat.files.attached_file import ReadText
from smart_context.chat.files.file_text import text_of
from smart_context.storage.ports import Events, Storage
from smart_context.storage.postgres.answers import PostgresAnswers
from smart_context.storage.postgres.blobs import PostgresBlobs
from smart_context.storage.postgres.chats import postgres_chats
from smart_context.storage.postgres.database import Database, row
from smart_context.storage.postgres.documents import PostgresDocuments, PostgresVaultDocuments
from smart_context.storage.postgres.listening import Listener, PostgresEvents
from smart_context.storage.postgres.logs import PostgresLogs
from smart_context.storage.postgres.shared import PostgresLeases, PostgresRecords
from smart_context.storage.postgres.vectors import PostgresVectors, VectorSearch

Identity = Callable[[], Awaitable[str]]
"""Returns the id of a database's vault, which tells it from other vaults."""


def postgres_storage(
    url: str,
    caches: Caches,
    *,
    read_text: ReadText = text_of,
    events: Callable[[Identity], Events] | None = None,
) -> Storage:
    """The storage in a database; connects with the first use.

    Args:
        url: The address of the database: `postgresql://user@host/name`.
        caches: The files that this machine can make again.
        events: Makes the carrier of events, given the vault's id; by default the database.
    """
    database = Database(url)
    listener = Listener(database)
    blobs = PostgresBlobs(database, read_text)
    answers = PostgresAnswers(database)
    meanings = VectorSearch(database)

    async def identity() -> str:
        found = await database.do(row("SELECT id::text FROM vault_identity"))
        return str(found and found[0])

    def clear_up(now: float) -> Sequence[str]:
        meanings.fill()
        return blobs.remove_unused(now)

    def close() -> None:
        answers.close()
        database.close()

    return Storage(
        chats=postgres_chats(database, listener, meanings),
        documents=PostgresDocuments(database, listener.node),
        vault_documents=PostgresVaultDocuments(database),
        logs=PostgresLogs(database),
        vectors=PostgresVectors(database, meanings),
        blobs=blobs,
        answers=answers,
        events=events(identity) if events else PostgresEvents(database, listener),
        leases=PostgresLeases(database),
        caches=caches,
        clear_up=clear_up,
        close=close,
        records=PostgresRecords(database),
        check=database.check,
        figures=database.figures,
    )
