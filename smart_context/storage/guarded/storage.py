"""Puts the guards in front of a storage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from smart_context.base.asking import person_asking
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.storage.guarded.chats import PersonalChats
from smart_context.storage.guarded.documents import (
    PersonalContexts,
    PersonalDocuments,
    PersonalLogs,
)
from smart_context.storage.guarded.owners import Owners
from smart_context.storage.ports import Blobs, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """A storage that several people share, and the owners of what is in it."""

    storage: Storage  # what each person reaches of it
    owners: Owners  # whose the chats and files are
    contexts: PersonalContexts  # the named contexts of each person, and the shared ones


def guarded(storage: Storage) -> People:
    """The storage, of which each person reaches what is theirs or shared."""
    owners = Owners(storage)
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
    return People(storage=personal, owners=owners, contexts=contexts)


class PersonalBlobs:
    """The attached files, of which each person reaches what they or a shared chat have.

    Satisfies `Blobs`. A digest alone opens nothing, wherever it is written.
    """

    def __init__(self, inner: Blobs, owners: Owners) -> None:
        self._inner = inner
        self._owners = owners

    async def put(self, name: str, content: bytes) -> AttachedFile:
        """Store a file, which the person then has."""
        stored = await self._inner.put(name, content)
        if (person := person_asking()) is not None:
            await self._owners.person_has(person, stored.storage_key)
        return stored

    async def info(self, key: str) -> AttachedFile | None:
        """A file's name, type and size; `None` when it is gone."""
        return await self._inner.info(key) if await self._may_read(key) else None

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        """The text of a file; `None` when it has none, or is gone."""
        return await self._inner.read(id) if await self._may_read(id) else None

    async def content(self, key: str) -> bytes | None:
        """All of a file; `None` when it is gone."""
        return await self._inner.content(key) if await self._may_read(key) else None

    async def data_uri(self, key: str) -> str | None:
        """An image as a model takes it; `None` for anything else, and for one that is too large."""
        return await self._inner.data_uri(key) if await self._may_read(key) else None

    async def keep(self, key: str) -> None:
        """Note that a file is used again, so that it is not removed as unused."""
        if await self._may_read(key):
            await self._inner.keep(key)

    async def _may_read(self, key: str) -> bool:
        person = person_asking()
        return person is None or await self._owners.has_file(person, key)
