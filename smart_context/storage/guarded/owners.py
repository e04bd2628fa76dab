"""Finds the owners of chats and attached files in the storage itself."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from smart_context.base.lookups import Lookups
from smart_context.base.values import OWNER, JsonObject, PersonId, person_tag
from smart_context.chat.documents.document import no_messages
from smart_context.chat.documents.lineage import NEVER_SAVES
from smart_context.chat.documents.ownership import OWNED_BY, Ownership, ownership_of
from smart_context.chat.ids import unknown_chat
from smart_context.storage.ports import Storage

HOLDERS = "holders"
"""The kind of the documents that record holders of attached files: one per file and holder."""


class OwnershipIndex:
    """Knows who owns each chat and who holds each attached file of a storage.

    An attached file is known by its digest, so it may have several holders: each person who has
    sent its bytes, and each shared chat to which one of its holders attached it.
    """

    def __init__(self, storage: Storage) -> None:
        self._chats = storage.chats
        self._documents = storage.vault_documents
        self._blobs = storage.blobs
        self._known: dict[str, Ownership] = {}
        self._found: Lookups[str, Ownership | None] = Lookups()

    async def of_chat(self, chat_id: str) -> Ownership | None:
        """The owner of a chat, also of a deleted one; a request reuses what it found for a second.

        Returns:
            `None` if no chat has that id.

        Raises:
            SmartContextError: The id is bad, or the chat can't be read.
        """
        return self._found.get(chat_id) or await self.read(chat_id)

    async def read(self, chat_id: str) -> Ownership | None:
        """As `of_chat`, but always read from the storage."""
        owned = await self._stored(chat_id)
        if owned is None:
            self._known.pop(chat_id, None)
        else:
            self._known[chat_id] = owned
        self._found.keep(chat_id, owned)
        return owned

    async def share(self, chat_id: str, person: PersonId, *, shared: bool) -> None:
        """Share a person's chat with all people, or stop that.

        Raises:
            CommandFailed: There is no such chat of that person.
        """

        def change(document: JsonObject) -> None:
            if ownership_of(document.get(OWNED_BY)).person != person:
                raise unknown_chat(chat_id)
            value = Ownership(person, shared).value()
            document.pop(OWNED_BY, None)
            document.update({} if value is None else {OWNED_BY: value})

        await self._chats.update(chat_id, change, since=no_messages, creates=False)
        document = await self._chats.load(chat_id, reader=NEVER_SAVES)
        if shared:
            await self.chat_has(chat_id, document, person)
        else:
            await self.keep_files(chat_id, document, person)
        await self.read(chat_id)

    def known(self, chat_id: str) -> Ownership | None:
        """The owner of a chat when it was last read; `None` if it was never read."""
        return self._known.get(chat_id)

    async def has_file(self, person: PersonId, key: str) -> bool:
        """True if a person has an attached file, or may use a shared chat that has it."""
        if await self._holds(key, _of_person(person)):
            return True
        if person == OWNER and await self._blobs.info(key) is not None:
            # A file without holders was attached before there were several people.
            return not await asyncio.to_thread(self._is_held, key)
        rows = await self._chats.listing.rows(person)
        for row in rows:
            if row.shared and await self._holds(key, _of_chat(row.id)):
                return True
        return False

    async def person_has(self, person: PersonId, key: str) -> None:
        """Record that a person has an attached file."""
        await self._hold(key, _of_person(person))

    async def chat_has(self, chat_id: str, document: Mapping[str, Any], person: PersonId) -> None:
        """Make a shared chat a holder of those files of its messages that the person has."""
        for key in file_keys(document):
            if not await self._holds(key, _of_chat(chat_id)) and await self.has_file(person, key):
                await self._hold(key, _of_chat(chat_id))

    async def keep_files(self, chat_id: str, document: Mapping[str, Any], person: PersonId) -> None:
        """Make a person a holder of the files of their chat, which is no longer shared."""
        for key in file_keys(document):
            if await self._holds(key, _of_chat(chat_id)):
                await self.person_has(person, key)

    def forget_files(self, keys: frozenset[str]) -> None:
        """Remove the records of holders of removed files; blocks."""
        if gone := {_file(key) for key in keys}:
            for name in self._documents.keys(HOLDERS):
                if name.partition(" ")[0] in gone:
                    self._documents.delete(HOLDERS, name)

    def _is_held(self, key: str) -> bool:
        beginning = f"{_file(key)} "
        return any(name.startswith(beginning) for name in self._documents.keys(HOLDERS))

    async def _stored(self, chat_id: str) -> Ownership | None:
        value = await self._chats.value(chat_id, OWNED_BY)
        if value is None and await self._chats.exists(chat_id):
            # Read again: the chat may have been made after the first look.
            return ownership_of(await self._chats.value(chat_id, OWNED_BY))
        if value is not None:
            return ownership_of(value)
        person = await self._chats.trash.person_of(chat_id)  # type: ignore[arg-type] # checked above
        return None if person is None else Ownership(person)

    async def _holds(self, key: str, holder: str) -> bool:
        name = f"{_file(key)} {holder}"
        return await asyncio.to_thread(self._documents.read, HOLDERS, name) is not None

    async def _hold(self, key: str, holder: str) -> None:
        name = f"{_file(key)} {holder}"
        await asyncio.to_thread(self._documents.write, HOLDERS, name, {})


def file_keys(document: Mapping[str, Any]) -> frozenset[str]:
    """The storage keys of all files that a chat's messages name, also in other versions."""
    return frozenset(_keys(document))


def _keys(document: Mapping[str, Any]) -> Iterator[str]:
    messages, branches = document.get("messages"), document.get("branches")
    for message in messages if isinstance(messages, list) else ():
        files = message.get("files") if isinstance(message, Mapping) else None
        for file in files if isinstance(files, list) else ():
            if isinstance(file, Mapping) and isinstance(key := file.get("storage_key"), str):
                yield key
    for branch in branches if isinstance(branches, list) else ():
        if isinstance(branch, Mapping):
            yield from _keys(branch)


def _file(key: str) -> str:
    """A file's name in a document's name: hashed, so that the document does not count as a use."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def _of_person(person: PersonId) -> str:
    return f"person {person_tag(person)}"


def _of_chat(chat_id: str) -> str:
    return f"chat {chat_id}"
