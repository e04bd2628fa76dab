"""A person's choices for a chat, for exports and imports."""

from collections.abc import Collection

from smart_context.base.errors import StoreFailed
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.documents.choices import choices_name, unreadable_in, with_chosen
from smart_context.storage.ports import ChatDocuments, Conflict, Document


async def choices_of(documents: ChatDocuments, chat_id: str, person: PersonId) -> JsonObject:
    """A person's choices for a chat.

    Raises:
        StoreFailed: If they can't be read.
    """
    return dict((await _read(documents, chat_id, person)).value)


async def choose(
    documents: ChatDocuments,
    chat_id: str,
    person: PersonId,
    *,
    hidden: Collection[str],
    pinned: Collection[str] = (),
) -> None:
    """Hide and pin messages, which need not be stored yet.

    Raises:
        StoreFailed: If the person's choices can't be read.
    """
    while hidden or pinned:
        before = await _read(documents, chat_id, person)
        chosen = with_chosen(before.value, hidden=hidden, pinned=pinned)
        try:
            await documents.replace(chat_id, choices_name(person), chosen, expected=before.revision)
        except Conflict:
            continue  # the person's choices changed meanwhile
        return


async def _read(documents: ChatDocuments, chat_id: str, person: PersonId) -> Document:
    (choices,) = await documents.read(chat_id, choices_name(person))
    if choices.is_damaged or unreadable_in(choices.value):
        raise StoreFailed(
            f"your choices for the chat {chat_id!r} can't be read; open it and choose again"
        )
    return choices
