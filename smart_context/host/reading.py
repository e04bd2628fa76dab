"""Reads chats, rows and files for pages and clients of the API, as far as they may see them.

Another person's things read like things that do not exist.
"""

import asyncio
from collections.abc import Collection

from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.documents.branches import BRANCHES, REMOVED
from smart_context.chat.documents.lineage import NEVER_SAVES
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.chat.ids import is_placeholder
from smart_context.chat.listed.rows import ChatRow, DeletedChat
from smart_context.chat.listed.search import ChatHit
from smart_context.chat.messages import Message, messages_of
from smart_context.host.access import Access, OwnedKind, OwnedName
from smart_context.host.commands.registry import Caller
from smart_context.storage.chosen import choices_of
from smart_context.storage.ports import Chats, Storage

PEOPLE = "people"
"""The kind of the documents with people's own names: `{"name"}`, by person."""


class ReadAccess:
    """Reads for a caller; its errors are those of the storage's ports."""

    def __init__(self, storage: Storage, access: Access) -> None:
        self._storage = storage
        self._access = access

    async def rows(self, caller: Caller) -> list[ChatRow]:
        """The rows of the caller's chats, newest first."""
        return await self._chats(caller).listing.rows(caller.person)

    async def search(self, caller: Caller, query: str) -> list[ChatHit]:
        """The messages and titles of the caller's chats with all words, newest chats first."""
        return await self._chats(caller).listing.search(caller.person, query)

    async def deleted(self, caller: Caller) -> tuple[list[DeletedChat], int]:
        """The caller's deleted chats, the newest first, and the number of all."""
        return await self._chats(caller).trash.listed(caller.person)

    async def document(self, caller: Caller, chat_id: str) -> JsonObject:
        """A chat's document; `{"messages": []}` if there is none."""
        if not await self._may(caller, "chat", chat_id):
            return {"messages": []}
        return await self._chats(caller).load(chat_id, reader=NEVER_SAVES)

    async def choices(self, caller: Caller, chat_id: str) -> JsonObject:
        """The caller's choices for a chat; none if there is no such chat.

        Raises:
            StoreFailed: If they can't be read.
        """
        if not await self._may(caller, "chat", chat_id):
            return {}
        return await choices_of(self._of(caller), chat_id)

    async def parts(self, caller: Caller, chat_id: str) -> tuple[tuple[Message, ...], JsonObject]:
        """A chat's messages, and its document without them, so that they are not copied twice.

        A document with other versions keeps its messages, since these locate the versions.
        """
        if not await self._may(caller, "chat", chat_id):
            return (), {}
        chats = self._chats(caller)
        messages, others = await chats.snapshot(chat_id)
        if not (others.get(BRANCHES) or others.get(REMOVED)):
            return messages, others
        document = await chats.load(chat_id, reader=NEVER_SAVES)
        return messages_of(document), document

    async def messages(self, caller: Caller, chat_id: str) -> tuple[Message, ...]:
        """A chat's messages, oldest first; none if there is no such chat."""
        if not await self._may(caller, "chat", chat_id):
            return ()
        return await self._chats(caller).messages(chat_id)

    async def has_chat(self, caller: Caller, chat_id: str) -> bool:
        """True if the chat is stored."""
        may_use = await self._may(caller, "chat", chat_id)
        return may_use and await self._chats(caller).exists(chat_id)

    async def may_continue(self, caller: Caller, chat_id: str) -> bool:
        """True if the caller may write in the chat, which need not exist."""
        return not is_placeholder(chat_id) and await self._may(caller, "chat", chat_id)

    async def file(self, caller: Caller, key: str) -> tuple[AttachedFile, bytes] | None:
        """An attached file and its content; `None` if it does not exist."""
        if not await self._may(caller, "file", key):
            return None
        files = self._of(caller).blobs
        info, content = await files.info(key), await files.content(key)
        return None if info is None or content is None else (info, content)

    async def names(self, people: Collection[PersonId]) -> dict[PersonId, str]:
        """People's own names as of their last login, or else their ids here."""

        def read() -> dict[PersonId, str]:
            read_of = self._storage.vault_documents.read
            found = {person: read_of(PEOPLE, person) or {} for person in people}
            return {person: str(known.get("name") or person) for person, known in found.items()}

        return await asyncio.to_thread(read) if people else {}

    def _of(self, caller: Caller) -> Storage:
        return self._storage.for_person(caller.person)

    def _chats(self, caller: Caller) -> Chats:
        return self._of(caller).chats

    async def _may(self, caller: Caller, kind: OwnedKind, name: str) -> bool:
        return await self._access.may_use(caller.person, OwnedName(kind, name))
