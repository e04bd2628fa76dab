"""A person's choices for a chat, for exports and imports."""

from collections.abc import Collection

from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject
from smart_context.chat.documents.choices import choices_name, unreadable_in, with_chosen
from smart_context.storage.ports import Conflict, Document, Storage


async def choices_of(storage: Storage, chat_id: str) -> JsonObject:
    """The choices for a chat of the storage's person.

    Raises:
        StoreFailed: If they can't be read.
    """
    return dict((await _read(storage, chat_id)).value)


async def choose(
    storage: Storage, chat_id: str, *, hidden: Collection[str], pinned: Collection[str] = ()
) -> None:
    """Hide and pin messages for the storage's person; they need not be stored yet.

    Raises:
        StoreFailed: If the person's choices can't be read.
    """
    name = choices_name(storage.person)
    while hidden or pinned:
        before = await _read(storage, chat_id)
        chosen = with_chosen(before.value, hidden=hidden, pinned=pinned)
        try:
            await storage.documents.replace(chat_id, name, chosen, expected=before.revision)
        except Conflict:
            continue  # the person's choices changed meanwhile
        return


async def _read(storage: Storage, chat_id: str) -> Document:
    (choices,) = await storage.documents.read(chat_id, choices_name(storage.person))
    if choices.is_damaged or unreadable_in(choices.value):
        raise StoreFailed(
            f"your choices for the chat {chat_id!r} can't be read; open it and choose again"
        )
    return choices
