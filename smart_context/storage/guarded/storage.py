"""Puts the guards in front of a storage."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.errors import CommandFailed
from smart_context.base.values import OWNER, JsonObject, PersonId, person_tag
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.chat.ids import unknown_chat
from smart_context.chat.messages import ChatId
from smart_context.storage.guarded.chats import KnownChanges, PersonalChats
from smart_context.storage.guarded.owners import OwnershipIndex
from smart_context.storage.ports import (
    Blobs,
    ChatChanges,
    ChatDocuments,
    Document,
    Limits,
    Log,
    Logs,
    Revision,
    Storage,
    VaultDocuments,
)

CONTEXTS = "contexts"
_PERSON = "person"
_OF_OTHERS = re.compile(r"@([0-9a-f]{32}|shared) ")
_NOT_THEIRS = "Only the person whose context it is can delete or share it."


@dataclass(frozen=True, slots=True)
class PersonalDocuments:
    """JSON objects of the chats that one person may use; satisfies `ChatDocuments`."""

    inner: ChatDocuments
    owners: OwnershipIndex
    person: PersonId

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        """The objects of these names; empty ones for another's chat."""
        if not await may_use_chat(self.owners, self.person, chat_id):
            return tuple(Document() for _ in names)
        return await self.inner.read(chat_id, *names, known=known)

    async def replace(
        self,
        chat_id: str,
        name: str,
        value: Mapping[str, Any],
        *,
        expected: Revision | None,
        keeps_copy: bool = False,
    ) -> Document:
        """Replace an object if its revision is still the expected one."""
        if not await may_use_chat(self.owners, self.person, chat_id):
            raise unknown_chat(chat_id)
        return await self.inner.replace(
            chat_id, name, value, expected=expected, keeps_copy=keeps_copy
        )


@dataclass(frozen=True, slots=True)
class PersonalLogs:
    """Logs of the chats that one person may use; satisfies `Logs`."""

    inner: Logs
    owners: OwnershipIndex
    person: PersonId

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> Log:
        """A log of a chat; it is deleted and restored with the chat."""
        log = self.inner.beside(chat_id, name, limits)
        return _PersonalLog(log, chat_id, self.owners, self.person)

    def of_vault(self, kind: str, key: str) -> Log:
        """A log of the vault as a whole, which several processes may add to."""
        return self.inner.of_vault(kind, key)


@dataclass(frozen=True, slots=True)
class _PersonalLog:
    inner: Log
    chat_id: ChatId
    owners: OwnershipIndex
    person: PersonId

    async def append(self, *lines: bytes) -> Revision | None:
        if not await may_use_chat(self.owners, self.person, self.chat_id):
            raise unknown_chat(self.chat_id)
        return await self.inner.append(*lines)

    async def revision(self) -> Revision | None:
        return await self.inner.revision() if await self._may_read() else None

    async def lines(self) -> list[bytes]:
        return await self.inner.lines() if await self._may_read() else []

    async def since(self, place: int) -> tuple[list[bytes], int]:
        return await self.inner.since(place) if await self._may_read() else ([], place)

    async def _may_read(self) -> bool:
        return await may_use_chat(self.owners, self.person, self.chat_id)


@dataclass(frozen=True, slots=True)
class PersonalContexts:
    """JSON objects of the vault, with one person's named contexts; satisfies `VaultDocuments`.

    Two people may use the same name. Only one shared context of a name can exist in the vault; a
    person's own context of that name takes precedence over it. Blocks.
    """

    inner: VaultDocuments
    known_as_shared: set[str]  # the names that were shared when they were last looked up
    person: PersonId

    def read(self, kind: str, key: str) -> JsonObject | None:
        """The object; `None` if there is none."""
        if kind != CONTEXTS:
            return self.inner.read(kind, key)
        own = self._own(key)
        return own if own is not None else self._shared(key)

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        """Store an object in place of the previous one; returns its place, for users."""
        if kind != CONTEXTS:
            return self.inner.write(kind, key, value)
        shared = self._shared(key)
        if shared is None or self._own(key) is not None:
            return self.inner.write(kind, _own_key(self.person, key), value)
        return self.inner.write(kind, _shared_key(key), {**value, _PERSON: shared.get(_PERSON)})

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        """Store an object unless there is one; True if it was stored."""
        return self.inner.add(kind, _own_key(self.person, key) if kind == CONTEXTS else key, value)

    def delete(self, kind: str, key: str) -> bool:
        """Delete an object; True if there was one."""
        if kind != CONTEXTS:
            return self.inner.delete(kind, key)
        if self._own(key) is not None:
            return self.inner.delete(kind, _own_key(self.person, key))
        return self._is_theirs(key) and self.inner.delete(kind, _shared_key(key))

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, sorted."""
        keys = self.inner.keys(kind)
        if kind != CONTEXTS:
            return keys
        tag, shared = f"@{person_tag(self.person)} ", _shared_key("")
        own = {key.removeprefix(tag) for key in keys if key.startswith(tag)}
        if self.person == OWNER:
            own = {key for key in keys if _OF_OTHERS.match(key) is None}
        return sorted(own | {key.removeprefix(shared) for key in keys if key.startswith(shared)})

    def shared_by(self, key: str) -> PersonId | None:
        """The person who shares the context of this name; `None` if this person has one."""
        if self._own(key) is not None:
            return None
        shared = self._shared(key)
        return None if shared is None else PersonId(str(shared.get(_PERSON) or OWNER))

    def share(self, key: str, *, shared: bool) -> None:
        """Share a context with all people, or stop that.

        Raises:
            CommandFailed: There is no such context, it is another's, or another shares one of this
                name.
        """
        person = self.person
        own = self._own(key)
        if shared and own is not None:
            if self._shared(key) is not None:
                raise CommandFailed(
                    f"Another context {key!r} is shared already. Save yours under another name."
                )
            self.inner.write(CONTEXTS, _shared_key(key), {**own, _PERSON: person})
            self.inner.delete(CONTEXTS, _own_key(person, key))
            self.known_as_shared.add(key)
        elif own is None and not self._is_theirs(key):
            raise CommandFailed(f"There is no context {key!r}.")
        elif own is None and not shared:
            value = {k: v for k, v in (self._shared(key) or {}).items() if k != _PERSON}
            self.inner.write(CONTEXTS, _own_key(person, key), value)
            self.inner.delete(CONTEXTS, _shared_key(key))

    def _own(self, key: str) -> JsonObject | None:
        if self.person == OWNER and _OF_OTHERS.match(key):
            return None
        return self.inner.read(CONTEXTS, _own_key(self.person, key)) if key else None

    def _shared(self, key: str) -> JsonObject | None:
        shared = self.inner.read(CONTEXTS, _shared_key(key)) if key else None
        (self.known_as_shared.discard if shared is None else self.known_as_shared.add)(key)
        return shared

    def _is_theirs(self, key: str) -> bool:
        """True if this person shares the context; False if there is none.

        Raises:
            CommandFailed: Another shares it.
        """
        shared = self._shared(key)
        if shared is not None and shared.get(_PERSON, OWNER) != self.person:
            raise CommandFailed(_NOT_THEIRS)
        return shared is not None


async def may_use_chat(owners: OwnershipIndex, person: PersonId, chat_id: str) -> bool:
    """True if a person may use a chat, or create it."""
    owned = await owners.of_chat(chat_id)
    return owned is None or owned.may_use(person)


def _own_key(person: PersonId, key: str) -> str:
    if person != OWNER:
        return f"@{person_tag(person)} {key}"
    if _OF_OTHERS.match(key):
        raise ValueError(f"{key!r} can't be the name of a context; choose another")
    return key


def _shared_key(key: str) -> str:
    return f"@shared {key}"


@dataclass(frozen=True, slots=True)
class PersonalBlobs:
    """The attached files of one person and of the shared chats; satisfies `Blobs`.

    Knowing the digest of a file is not enough to open it.
    """

    inner: Blobs
    owners: OwnershipIndex
    person: PersonId

    async def put(self, name: str, content: bytes) -> AttachedFile:
        """Store a file, and make the person a holder of it."""
        stored = await self.inner.put(name, content)
        await self.owners.person_has(self.person, stored.storage_key)
        return stored

    async def info(self, key: str) -> AttachedFile | None:
        return await self.inner.info(key) if await self._may_read(key) else None

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        return await self.inner.read(id) if await self._may_read(id) else None

    async def content(self, key: str) -> bytes | None:
        return await self.inner.content(key) if await self._may_read(key) else None

    async def data_uri(self, key: str) -> str | None:
        return await self.inner.data_uri(key) if await self._may_read(key) else None

    async def keep(self, key: str) -> None:
        if await self._may_read(key):
            await self.inner.keep(key)

    async def _may_read(self, key: str) -> bool:
        return await self.owners.has_file(self.person, key)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStorage:
    """A storage that several people share, and the owners of its contents."""

    storage: Storage  # all of it; its `for_person` gives each person their share
    owners: OwnershipIndex  # the owners of the chats and files
    changes: ChatChanges  # reports changes after reading whose chat it is
    known_as_shared: set[str]  # the contexts that were shared when they were last looked up

    def contexts_of(self, person: PersonId) -> PersonalContexts:
        """A person's named contexts, and the shared ones."""
        return PersonalContexts(self.storage.vault_documents, self.known_as_shared, person)


def guarded(storage: Storage) -> SharedStorage:
    """Guard a storage, so that `for_person` gives what is the person's or shared, and no more."""
    owners = OwnershipIndex(storage)
    known_as_shared: set[str] = set()

    def clear_up(now: float) -> Sequence[str]:
        gone = storage.clear_up(now)
        owners.forget_files(frozenset(gone))
        return gone

    def of_person(person: PersonId) -> Storage:
        return replace(
            storage,
            chats=PersonalChats(storage.chats, owners, person),
            documents=PersonalDocuments(storage.documents, owners, person),
            vault_documents=PersonalContexts(storage.vault_documents, known_as_shared, person),
            logs=PersonalLogs(storage.logs, owners, person),
            blobs=PersonalBlobs(storage.blobs, owners, person),
            person=person,
        )

    return SharedStorage(
        storage=replace(storage, clear_up=clear_up, of_person=of_person),
        owners=owners,
        changes=KnownChanges(storage.chats.changes, owners),
        known_as_shared=known_as_shared,
    )
