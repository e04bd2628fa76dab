"""Whose a chat or an attached file is, read from the storage itself."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from smart_context.base.asking import person_tag
from smart_context.base.lookups import Lookups
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.documents.document import OWNED_BY, Ownership, no_messages, ownership_of
from smart_context.chat.documents.lineage import NEVER_SAVES
from smart_context.chat.ids import unknown_chat
from smart_context.storage.ports import Storage

HOLDERS = "holders"
"""The kind of the documents that say who has an attached file: one for each file and holder."""


class Owners:
    """Whose what is in one storage.

    An attached file is a digest, so several people may have the same one: each who has sent its
    bytes, and each chat that somebody attached it to who had it.
    """

    def __init__(self, storage: Storage) -> None:
        self._chats = storage.chats
        self._documents = storage.vault_documents
        self._blobs = storage.blobs
        self._known: dict[str, Ownership] = {}
        self._found: Lookups[str, Ownership | None] = Lookups()

    async def of_chat(self, chat_id: str) -> Ownership | None:
        """Whose a chat is, a deleted one included, as this request found it first.

        Returns:
            `None` if there is none of that id.

        Raises:
            SmartContextError: The id is bad, or the chat can't be read.
        """
        return self._found.get(chat_id) or await self.read(chat_id)

    async def read(self, chat_id: str) -> Ownership | None:
        """Whose a chat is now; raises and returns the same."""
        owned = await self._stored(chat_id)
        if owned is None:
            self._known.pop(chat_id, None)
        else:
            self._known[chat_id] = owned
        self._found.keep(chat_id, owned)
        return owned

    async def share(self, chat_id: str, person: PersonId, *, shared: bool) -> None:
        """Let all people use a person's chat, or only that person.

        Raises:
            CommandFailed: There is no such chat.
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
        """Whose a chat was when that was last read; `None` if it never was."""
        return self._known.get(chat_id)

    async def has_file(self, person: PersonId, key: str) -> bool:
        """True if a person has an attached file, or may use a shared chat that has it."""
        if await self._holds(key, _of_person(person)):
            return True
        if person == OWNER and await self._blobs.info(key) is not None:
            # Nobody's: attached before there were several people.
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
        """Record the files of a shared chat's messages, as far as a person has them."""
        for key in file_keys(document):
            if not await self._holds(key, _of_chat(chat_id)) and await self.has_file(person, key):
                await self._hold(key, _of_chat(chat_id))

    async def keep_files(self, chat_id: str, document: Mapping[str, Any], person: PersonId) -> None:
        """Let a person keep the files of a chat that is theirs and no longer shared."""
        for key in file_keys(document):
            if await self._holds(key, _of_chat(chat_id)):
                await self.person_has(person, key)

    def forget_files(self, keys: frozenset[str]) -> None:
        """Forget who had files that are gone; blocks."""
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
            # Only now is it known that the chat was there to be read: it may just have been made.
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
    """A file in the name of a document, but not so that the file counts as in use by that."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


def _of_person(person: PersonId) -> str:
    return f"person {person_tag(person)}"


def _of_chat(chat_id: str) -> str:
    return f"chat {chat_id}"
