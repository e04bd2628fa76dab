"""The rows of chats that documents, logs, vectors and answers stand beside."""

from smart_context.chat.messages import ChatId
from smart_context.storage.postgres.database import Connection


def found_place(connection: Connection, chat: ChatId) -> int | None:
    """The row of a chat, which may have no document; `None` if nothing stands there."""
    found = connection.execute(
        "SELECT number FROM chat WHERE id = %s AND deletion = ''", (chat,)
    ).fetchone()
    return found and found[0]


def locked_place(connection: Connection, chat: ChatId) -> int:
    """As `found_place`, made where it is missing; nobody else changes the chat until the commit."""
    while True:
        connection.execute(
            "INSERT INTO chat (id) VALUES (%s) ON CONFLICT (id, deletion) DO NOTHING", (chat,)
        )
        found = connection.execute(
            "SELECT number FROM chat WHERE id = %s AND deletion = '' FOR UPDATE", (chat,)
        ).fetchone()
        if found is not None:  # else it was deleted in between
            return int(found[0])
