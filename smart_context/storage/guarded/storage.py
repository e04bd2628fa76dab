"""Puts the guards in front of a storage."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.asking import person_asking, person_tag
from smart_context.base.errors import CommandFailed
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.chat.ids import unknown_chat
from smart_context.chat.messages import ChatId
from smart_context.storage.guarded.chats import PersonalChats
from smart_context.storage.guarded.owners import OwnershipIndex
from smart_context.storage.ports import (
    Blobs,
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


class PersonalDocuments:
    """JSON objects of the chats that the person who asks may use."""

    def __init__(self, inner: ChatDocuments, owners: OwnershipIndex) -> None:
        self._inner = inner
        self._owners = owners

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        """The objects of these names; empty ones for another's chat."""
        if not await may_use_chat(self._owners, chat_id):
            return tuple(Document() for _ in names)
        return await self._inner.read(chat_id, *names, known=known)

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
        if not await may_use_chat(self._owners, chat_id):
            raise unknown_chat(chat_id)
        return await self._inner.replace(
            chat_id, name, value, expected=expected, keeps_copy=keeps_copy
        )


class PersonalLogs:
    """Logs of the chats that the person who asks may use."""

    def __init__(self, inner: Logs, owners: OwnershipIndex) -> None:
        self._inner = inner
        self._owners = owners

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> Log:
        """A log of a chat; it is deleted and restored with the chat."""
        return _PersonalLog(self._inner.beside(chat_id, name, limits), chat_id, self._owners)

    def of_vault(self, kind: str, key: str) -> Log:
        """A log of the vault as a whole, which several processes may add to."""
        return self._inner.of_vault(kind, key)


class _PersonalLog:
    def __init__(self, inner: Log, chat_id: ChatId, owners: OwnershipIndex) -> None:
        self._inner = inner
        self._chat_id = chat_id
        self._owners = owners

    async def append(self, *lines: bytes) -> Revision | None:
        if not await may_use_chat(self._owners, self._chat_id):
            raise unknown_chat(self._chat_id)
        return await self._inner.append(*lines)

    async def revision(self) -> Revision | None:
        return await self._inner.revision() if await self._may_read() else None

    async def lines(self) -> list[bytes]:
        return await self._inner.lines() if await self._may_read() else []

    async def since(self, place: int) -> tuple[list[bytes], int]:
        return await self._inner.since(place) if await self._may_read() else ([], place)

    async def _may_read(self) -> bool:
        return await may_use_chat(self._owners, self._chat_id)


class PersonalContexts:
    """JSON objects of the vault; each person has named contexts of their own.

    So two people may use the same name. Only one shared context of a name can exist in the vault; a
    person's own context of that name takes precedence over it. Blocks.
    """

    def __init__(self, inner: VaultDocuments) -> None:
        self._inner = inner
        self._known_as_shared: set[str] = set()

    def read(self, kind: str, key: str) -> JsonObject | None:
        """The object; `None` if there is none."""
        person = person_asking()
        if kind != CONTEXTS or person is None:
            return self._inner.read(kind, key)
        own = self._own(person, key)
        return own if own is not None else self._shared(key)

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        """Store an object in place of the previous one; returns its place, for users."""
        person = person_asking()
        if kind != CONTEXTS or person is None:
            return self._inner.write(kind, key, value)
        shared = self._shared(key)
        if shared is None or self._own(person, key) is not None:
            return self._inner.write(kind, _own_key(person, key), value)
        return self._inner.write(kind, _shared_key(key), {**value, _PERSON: shared.get(_PERSON)})

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        """Store an object unless there is one; True if it was stored."""
        person = person_asking()
        if kind == CONTEXTS and person is not None:
            key = _own_key(person, key)
        return self._inner.add(kind, key, value)

    def delete(self, kind: str, key: str) -> bool:
        """Delete an object; True if there was one."""
        person = person_asking()
        if kind != CONTEXTS or person is None:
            return self._inner.delete(kind, key)
        if self._own(person, key) is not None:
            return self._inner.delete(kind, _own_key(person, key))
        return self._is_theirs(person, key) and self._inner.delete(kind, _shared_key(key))

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, sorted."""
        person = person_asking()
        keys = self._inner.keys(kind)
        if kind != CONTEXTS or person is None:
            return keys
        tag, shared = f"@{person_tag(person)} ", _shared_key("")
        own = {key.removeprefix(tag) for key in keys if key.startswith(tag)}
        if person == OWNER:
            own = {key for key in keys if _OF_OTHERS.match(key) is None}
        return sorted(own | {key.removeprefix(shared) for key in keys if key.startswith(shared)})

    def shared_by(self, key: str) -> PersonId | None:
        """The person who shares the context of this name; `None` if the asking person has one."""
        person = person_asking()
        if person is None or self._own(person, key) is not None:
            return None
        shared = self._shared(key)
        return None if shared is None else PersonId(str(shared.get(_PERSON) or OWNER))

    def is_known_as_shared(self, key: str) -> bool:
        """True if a context was shared when it was last looked up; doesn't block."""
        return key in self._known_as_shared

    def share(self, key: str, *, shared: bool) -> None:
        """Share a context with all people, or stop that.

        Raises:
            CommandFailed: There is no such context, it is another's, or another shares one of this
                name.
        """
        person = person_asking() or OWNER
        own = self._own(person, key)
        if shared and own is not None:
            if self._shared(key) is not None:
                raise CommandFailed(
                    f"Another context {key!r} is shared already. Save yours under another name."
                )
            self._inner.write(CONTEXTS, _shared_key(key), {**own, _PERSON: person})
            self._inner.delete(CONTEXTS, _own_key(person, key))
            self._known_as_shared.add(key)
        elif own is None and not self._is_theirs(person, key):
            raise CommandFailed(f"There is no context {key!r}.")
        elif own is None and not shared:
            value = {k: v for k, v in (self._shared(key) or {}).items() if k != _PERSON}
            self._inner.write(CONTEXTS, _own_key(person, key), value)
            self._inner.delete(CONTEXTS, _shared_key(key))

    def _own(self, person: PersonId, key: str) -> JsonObject | None:
        if person == OWNER and _OF_OTHERS.match(key):
            return None
        return self._inner.read(CONTEXTS, _own_key(person, key)) if key else None

    def _shared(self, key: str) -> JsonObject | None:
        shared = self._inner.read(CONTEXTS, _shared_key(key)) if key else None
        (self._known_as_shared.discard if shared is None else self._known_as_shared.add)(key)
        return shared

    def _is_theirs(self, person: PersonId, key: str) -> bool:
        """True if a person shares the context; False if there is none.

        Raises:
            CommandFailed: Another shares it.
        """
        shared = self._shared(key)
        if shared is not None and shared.get(_PERSON, OWNER) != person:
            raise CommandFailed(_NOT_THEIRS)
        return shared is not None


async def may_use_chat(owners: OwnershipIndex, chat_id: str) -> bool:
    """True if the person who asks may use a chat, or create it."""
    person = person_asking()
    if person is None:
        return True
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStorage:
    """A storage that several people share, and the owners of its contents."""

    storage: Storage  # the guarded storage: each person reaches their share of it
    owners: OwnershipIndex  # the owners of the chats and files
    contexts: PersonalContexts  # the named contexts of each person, and the shared ones


def guarded(storage: Storage) -> SharedStorage:
    """Guard a storage, so that each person reaches only what is theirs or shared."""
    owners = OwnershipIndex(storage)
    contexts = PersonalContexts(storage.vault_documents)

    def clear_up(now: float) -> Sequence[str]:
        gone = storage.clear_up(now)
        owners.forget_files(frozenset(gone))
        return gone

    personal = replace(
        storage,
        chats=PersonalChats(storage.chats, owners),
        documents=PersonalDocuments(storage.documents, owners),
        vault_documents=contexts,
        logs=PersonalLogs(storage.logs, owners),
        blobs=PersonalBlobs(storage.blobs, owners),
        clear_up=clear_up,
    )
    return SharedStorage(storage=personal, owners=owners, contexts=contexts)


class PersonalBlobs:
    """The attached files; each person reaches their own and those of shared chats.

    Satisfies `Blobs`. Knowing the digest of a file is not enough to open it.
    """

    def __init__(self, inner: Blobs, owners: OwnershipIndex) -> None:
        self._inner = inner
        self._owners = owners

    async def put(self, name: str, content: bytes) -> AttachedFile:
        """Store a file, and make the person who asks a holder of it."""
        stored = await self._inner.put(name, content)
        if (person := person_asking()) is not None:
            await self._owners.person_has(person, stored.storage_key)
        return stored

    async def info(self, key: str) -> AttachedFile | None:
        return await self._inner.info(key) if await self._may_read(key) else None

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        return await self._inner.read(id) if await self._may_read(id) else None

    async def content(self, key: str) -> bytes | None:
        return await self._inner.content(key) if await self._may_read(key) else None

    async def data_uri(self, key: str) -> str | None:
        return await self._inner.data_uri(key) if await self._may_read(key) else None

    async def keep(self, key: str) -> None:
        if await self._may_read(key):
            await self._inner.keep(key)

    async def _may_read(self, key: str) -> bool:
        person = person_asking()
        return person is None or await self._owners.has_file(person, key)
