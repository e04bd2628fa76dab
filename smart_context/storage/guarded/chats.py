"""The chats of several people: each reaches their own and the shared ones.

Another person's chat looks as if it did not exist.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.documents.document import Since, whole
from smart_context.chat.documents.lineage import ANYBODY
from smart_context.chat.documents.ownership import ITS_PERSONS, OWNED_BY, Ownership
from smart_context.chat.ids import is_placeholder, unknown_chat
from smart_context.chat.listed.rows import ChatRow, DeletedChat
from smart_context.chat.listed.search import MOST_HITS, ChatHit
from smart_context.chat.messages import ChatId, Message
from smart_context.storage.guarded.owners import OwnershipIndex
from smart_context.storage.names import not_in_trash
from smart_context.storage.ports import (
    ChangeListener,
    ChatChanges,
    ChatList,
    Chats,
    ChatTrash,
    Floats,
    NearMessage,
    StorageFaults,
)

NOT_THEIRS = "Only the person whose chat it is can do this."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PersonalList:
    """The list of the chats that one person may use; satisfies `ChatList`."""

    inner: ChatList
    person: PersonId

    async def rows(self, person: PersonId) -> list[ChatRow]:
        return await self.inner.rows(_checked(person, self.person))

    async def revisions(self, person: PersonId, *beside: str) -> Mapping[ChatId, str]:
        return await self.inner.revisions(_checked(person, self.person), *beside)

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        return await self.inner.search(_checked(person, self.person), query, limit)

    async def nearest(
        self, person: PersonId, model: str, query: Floats, limit: int, without: ChatId
    ) -> list[NearMessage] | None:
        return await self.inner.nearest(_checked(person, self.person), model, query, limit, without)

    async def faults(self) -> StorageFaults:
        return await self.inner.faults()


@dataclass(frozen=True, slots=True)
class PersonalTrash:
    """The deleted chats of one person; satisfies `ChatTrash`."""

    inner: ChatTrash
    person: PersonId

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        return await self.inner.listed(_checked(person, self.person))

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        return await self.inner.ids(_checked(person, self.person))

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        """The owner of the chat that was last deleted under an id; `None` for another's chat."""
        found = await self.inner.person_of(chat_id)
        return found if found == self.person else None

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        await self.check(chat_id)
        return await self.inner.purge(chat_id, deletion)

    async def empty(self, person: PersonId, until: str = "") -> int:
        return await self.inner.empty(_checked(person, self.person), until)

    async def check(self, chat_id: ChatId) -> None:
        """Check that a chat is in the trash of the person.

        Raises:
            CommandFailed: It is not; the same error as for a chat that does not exist.
        """
        if await self.person_of(chat_id) is None:
            raise not_in_trash(chat_id)


class KnownChanges:
    """Reports a change after reading the chat's owner; satisfies `ChatChanges`."""

    def __init__(self, inner: ChatChanges, owners: OwnershipIndex) -> None:
        self._inner = inner
        self._owners = owners
        self._telling: set[asyncio.Task[None]] = set()

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        def note(chat_id: ChatId) -> None:
            task = asyncio.get_running_loop().create_task(self._tell(chat_id, listener))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

        return self._inner.on_change(note)

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        return self._inner.on_sidecar_change(listener)

    async def watch(self) -> None:
        await self._inner.watch()

    async def _tell(self, chat_id: ChatId, listener: ChangeListener) -> None:
        try:
            await self._owners.read(chat_id)
            listener(chat_id)
        except Exception:  # noqa: BLE001 - one listener must not stop the others
            _log.exception("A listener failed on the change of chat %s", chat_id)


@dataclass(frozen=True, slots=True)
class PersonalChats:
    """The chats that one person may use; satisfies `Chats`."""

    inner: Chats
    owners: OwnershipIndex
    person: PersonId

    @property
    def listing(self) -> PersonalList:
        """The list of the person's chats and the shared ones."""
        return PersonalList(self.inner.listing, self.person)

    @property
    def changes(self) -> ChatChanges:
        """Reports changes of all chats."""
        return self.inner.changes

    @property
    def trash(self) -> PersonalTrash:
        """The person's deleted chats."""
        return PersonalTrash(self.inner.trash, self.person)

    async def load(self, chat_id: str, *, reader: str = ANYBODY) -> JsonObject:
        if not await self._may_read(chat_id):
            return {"messages": []}
        return await self.inner.load(chat_id, reader=reader)

    async def messages(self, chat_id: str) -> tuple[Message, ...]:
        return await self.inner.messages(chat_id) if await self._may_read(chat_id) else ()

    async def snapshot(self, chat_id: str, *keys: str) -> tuple[tuple[Message, ...], JsonObject]:
        if not await self._may_read(chat_id):
            return (), {}
        return await self.inner.snapshot(chat_id, *keys)

    async def value(self, chat_id: str, key: str) -> Any:
        return await self.inner.value(chat_id, key) if await self._may_read(chat_id) else None

    async def exists(self, chat_id: str) -> bool:
        return await self._may_read(chat_id) and await self.inner.exists(chat_id)

    async def save(
        self, chat_id: str, document: Mapping[str, Any], *, reader: str = ANYBODY
    ) -> JsonObject:
        person = self.person
        owned = await self._writable(chat_id)
        if owned is None:  # claim the chat before any of it is stored
            await self.inner.update(chat_id, partial(_claim, person), creates=True)
        elif owned.person != person:
            document = await self._without_its_persons(chat_id, document)
        stored = await self.inner.save(chat_id, document, reader=reader)
        await self._note(chat_id, stored, owned)
        return stored

    async def update(
        self,
        chat_id: str,
        change: Callable[[JsonObject], None],
        *,
        since: Since = whole,
        creates: bool = True,
    ) -> JsonObject:
        person = self.person
        if is_placeholder(chat_id):
            return _unchanged(chat_id, change, creates=creates)
        owned = await self._writable(chat_id)
        claims = owned is None and creates
        told = owned or Ownership(person)
        kept = ITS_PERSONS if told.person != person else (OWNED_BY,)

        def guarded(document: JsonObject) -> None:
            if claims:
                _claim(person, document)
            before = {key: document[key] for key in kept if key in document}
            change(document)
            _put_back(document, kept, before)

        stored = await self.inner.update(chat_id, guarded, since=since, creates=creates)
        await self._note(chat_id, stored, told)
        return stored

    async def rename(self, chat_id: str, title: str) -> str:
        await self._check_theirs(chat_id)
        return await self.inner.rename(chat_id, title)

    async def delete(self, chat_id: str) -> None:
        await self._check_theirs(chat_id)
        await self.inner.delete(chat_id)

    async def restore(self, chat_id: str, deletion: str = "") -> None:
        await self.trash.check(ChatId(chat_id))
        await self.inner.restore(chat_id, deletion)

    async def close(self) -> None:
        await self.inner.close()

    async def _without_its_persons(
        self, chat_id: str, document: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """A document, with the stored values of the keys that only the chat's owner may change."""
        _, stored = await self.inner.snapshot(chat_id, *ITS_PERSONS)
        written = {key: value for key, value in document.items() if key not in ITS_PERSONS}
        return {**written, **{key: stored[key] for key in ITS_PERSONS if key in stored}}

    async def _may_read(self, chat_id: str) -> bool:
        owned = await self.owners.of_chat(chat_id)
        return owned is not None and owned.may_use(self.person)

    async def _writable(self, chat_id: str) -> Ownership | None:
        """The ownership of a chat that the person may write in; `None` for a new chat.

        Raises:
            CommandFailed: The chat is another person's, or its id is a placeholder.
        """
        owned = await self.owners.of_chat(chat_id)
        if is_placeholder(chat_id) or (owned is not None and not owned.may_use(self.person)):
            raise unknown_chat(chat_id)
        return owned

    async def _check_theirs(self, chat_id: str) -> None:
        owned = await self.owners.of_chat(chat_id)
        if owned is None or not owned.may_use(self.person):
            raise unknown_chat(chat_id)
        if owned.person != self.person:
            raise CommandFailed(NOT_THEIRS)

    async def _note(self, chat_id: str, stored: JsonObject, owned: Ownership | None) -> None:
        """Let those who share the chat reach the files that the person put into it."""
        if owned is None or owned.is_shared:
            shared = owned or await self.owners.of_chat(chat_id)
            if shared is not None and shared.is_shared:
                await self.owners.chat_has(chat_id, stored, self.person)
        elif self.owners.known(chat_id) is None:
            await self.owners.of_chat(chat_id)


def _checked(person: PersonId, own: PersonId) -> PersonId:
    """The person, if these are their own chats.

    Raises:
        ValueError: They are somebody else's.
    """
    if person != own:
        raise ValueError(f"the chats of {person!r} were asked for in the storage of {own!r}")
    return person


def _claim(person: PersonId, document: JsonObject) -> None:
    """Make a person the owner of a new chat.

    Raises:
        CommandFailed: Somebody else has just made the chat.
    """
    if OWNED_BY in document or document.get("messages") or len(document) > 1:
        raise CommandFailed("This chat has just been made by somebody else; use another id.")
    if (value := Ownership(person).value()) is not None:
        document[OWNED_BY] = value


def _unchanged(chat_id: str, change: Callable[[JsonObject], None], *, creates: bool) -> JsonObject:
    """The empty document, after a change that leaves it empty; for a chat that does not exist.

    Raises:
        CommandFailed: The change would create the chat, or expects it to exist.
    """
    document: JsonObject = {"messages": []}
    if creates:
        change(document)
    if not creates or document != {"messages": []}:
        raise unknown_chat(chat_id)
    return document


def _put_back(document: JsonObject, keys: Iterable[str], before: Mapping[str, Any]) -> None:
    """Restore the values of these keys from before a change."""
    for key in keys:
        if key in before:
            document[key] = before[key]
        else:
            document.pop(key, None)
