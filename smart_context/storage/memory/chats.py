"""Chats in memory: merged as those on disk are, and gone with their process."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from smart_context.base.errors import CommandFailed
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.documents.document import Version, copy_json
from smart_context.chat.documents.lineage import ANYBODY, Lineage
from smart_context.chat.documents.merge import changed, saved
from smart_context.chat.documents.parts import Since, followed_by, part_since, whole
from smart_context.chat.ids import check_chat_id, file_stamp
from smart_context.chat.listed.rows import (
    MOST_LISTED,
    ChatRow,
    DeletedChat,
    checked_title,
    in_order,
    row_of,
)
from smart_context.chat.listed.search import HITS_PER_CHAT, MOST_HITS, ChatHit, hits_in, query_words
from smart_context.chat.messages import ChatId, Message
from smart_context.storage.memory.held import Held, HeldChat, HeldDeletion
from smart_context.storage.ports import ChangeListener, Faults

_log = logging.getLogger(__name__)


class MemoryChanges:
    """Tells listeners of changes; satisfies `ChatChanges`."""

    def __init__(self, held: Held) -> None:
        self._listeners: list[ChangeListener] = []
        self._sidecar_listeners: list[ChangeListener] = []
        self._is_watching = False
        held.watchers.append(self._tell)

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after each stored change of any chat."""
        return _added(self._listeners, listener)

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after a document beside a chat changed, while `watch` runs."""
        return _added(self._sidecar_listeners, listener)

    async def watch(self) -> None:
        """Report what others change until cancelled."""
        self._is_watching = True
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._is_watching = False

    def close(self) -> None:
        """Forget the listeners."""
        self._listeners.clear()
        self._sidecar_listeners.clear()

    def _tell(self, chat: ChatId, by: object, is_chat: bool) -> None:
        if self._is_watching or (is_chat and by is self):
            for listener in tuple(self._listeners if is_chat else self._sidecar_listeners):
                try:
                    listener(chat)
                except Exception:  # noqa: BLE001 - one listener must not stop the others
                    _log.exception("A listener failed on the change of chat %s", chat)


class MemoryList:
    """The list of chats, and the search in them; satisfies `ChatList`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    async def rows(self, person: PersonId) -> list[ChatRow]:
        """All chats of a person, newest first."""
        if person != OWNER:  # all that is kept here is theirs
            return []
        chats = self._held.chats.items()
        return in_order((chat, row_of(id_, chat.version, chat)) for id_, chat in chats)

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        """The messages and titles that contain all words of the query, newest chats first."""
        words = query_words(query)
        rows = await self.rows(person) if words else []
        return list(islice(self._hits(rows, words), max(limit, 0)))

    async def faults(self) -> Faults:
        """None: nothing is damaged here."""
        return Faults((), ())

    def _hits(self, rows: list[ChatRow], words: tuple[str, ...]) -> Iterator[ChatHit]:
        for row in rows:
            version = self._held.chats[row.id].version
            yield from islice(hits_in(row.id, version, words), HITS_PER_CHAT)


class MemoryTrash:
    """The deleted chats; satisfies `ChatTrash`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        """A person's deleted chats, the newest first, and the number of all."""
        if person != OWNER:  # all that is kept here is theirs
            return [], 0
        trash = self._held.trash
        return [_listed(deleted) for deleted in trash[: -MOST_LISTED - 1 : -1]], len(trash)

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        """The ids of all of a person's deleted chats, however many."""
        return frozenset(d.id for d in self._held.trash if person == OWNER)

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        """Remove a deleted chat for ever; returns the number of deletions removed."""
        gone = [d for d in self._held.trash if d.id == chat_id and deletion in ("", d.name)]
        if not gone:
            raise CommandFailed(f"There is no chat {chat_id!r} in the trash.")
        self._held.trash[:] = [d for d in self._held.trash if d not in gone]
        return len(gone)

    async def empty(self, person: PersonId, until: str = "") -> int:
        """Remove a person's deleted chats for ever; returns the number of deletions removed."""
        if person != OWNER:  # all that is kept here is theirs
            return 0
        kept = [d for d in self._held.trash if until and d.deleted_at > until]
        removed = len(self._held.trash) - len(kept)
        self._held.trash[:] = kept
        return removed


class MemoryChats:
    """The chats; satisfies `Chats`.

    Attributes:
        listing: The list of chats, and the search in them.
        changes: Reports changes of chats.
        trash: The deleted chats.
    """

    def __init__(self, held: Held) -> None:
        self._held = held
        self._lineage = Lineage()
        self.listing = MemoryList(held)
        self.changes = MemoryChanges(held)
        self.trash = MemoryTrash(held)

    async def load(self, chat_id: str, *, reader: str = ANYBODY) -> JsonObject:
        """The document; `{"messages": []}` for a chat that does not exist."""
        chat = check_chat_id(chat_id)
        version = self._version(chat)
        self._lineage.loaded(chat, reader, version)
        return version.copy()

    async def messages(self, chat_id: str) -> tuple[Message, ...]:
        """The messages, oldest first."""
        return self._version(check_chat_id(chat_id)).messages

    async def snapshot(self, chat_id: str) -> tuple[tuple[Message, ...], JsonObject]:
        """The messages, oldest first, and the document's other keys."""
        version = self._version(check_chat_id(chat_id))
        return version.messages, copy_json(dict(version.other))

    async def value(self, chat_id: str, key: str) -> Any:
        """What the document has under one of its other keys; `None` for nothing."""
        return copy_json(self._version(check_chat_id(chat_id)).other.get(key))

    async def exists(self, chat_id: str) -> bool:
        """True if the chat is stored."""
        return check_chat_id(chat_id) in self._held.chats

    async def save(
        self, chat_id: str, document: Mapping[str, Any], *, reader: str = ANYBODY
    ) -> JsonObject:
        """Store a whole document that a client loaded earlier and changed."""
        chat = check_chat_id(chat_id)
        stored = self._held.chats.get(chat)
        ancestry = self._lineage.of(chat, reader)
        ours, version = saved(document, ancestry, stored.version if stored else None)
        self._put(chat, version)
        self._lineage.sent(chat, reader, ours)
        if not version.says_the_same(ours):
            self._lineage.returned(chat, reader, version)
        return version.copy()

    async def update(
        self,
        chat_id: str,
        change: Callable[[JsonObject], None],
        *,
        since: Since = whole,
        creates: bool = True,
    ) -> JsonObject:
        """Change the newest document, with no other change in between."""
        chat = check_chat_id(chat_id)
        if not creates and chat not in self._held.chats:
            raise CommandFailed(f"There is no chat {chat!r}; it may have been deleted.")
        before = self._version(chat)
        first = since(before)
        part = part_since(before, first)
        document = part.copy()
        change(document)
        version = followed_by(before, first, changed(document, part))
        if chat in self._held.chats or not version.says_the_same(before):
            self._put(chat, version)
        return part_since(version, first).copy()

    async def rename(self, chat_id: str, title: str) -> str:
        """Give the chat a title of 1 to 200 characters; the result has single spaces."""
        wanted = checked_title(title)
        await self.update(chat_id, lambda document: document.update(title=wanted), creates=False)
        return wanted

    async def delete(self, chat_id: str) -> None:
        """Move the chat, and what stands beside it, to the trash."""
        chat = check_chat_id(chat_id)
        if chat not in self._held.chats:
            raise CommandFailed(f"There is no chat {chat!r} to delete.")
        now = datetime.now(UTC)
        deleted = HeldDeletion(
            name=f"{chat}.{file_stamp(now)}-{next(self._held.numbers):04}",
            id=chat,
            deleted_at=f"{now:%Y-%m-%dT%H:%M:%SZ}",
            chat=self._held.chats.pop(chat),
            beside=self._held.beside.pop(chat, {}),
        )
        self._held.trash.append(deleted)
        self._held.tell(chat, self.changes, is_chat=True)

    async def restore(self, chat_id: str, deletion: str = "") -> None:
        """Restore a deleted chat, by default the last under this id, with what stood beside it."""
        chat = check_chat_id(chat_id)
        found = [d for d in self._held.trash if d.id == chat and deletion in ("", d.name)]
        if not found:
            raise CommandFailed(f"There is no chat {chat!r} in the trash.")
        if chat in self._held.chats:
            raise CommandFailed(f"A chat {chat!r} exists again; it was not replaced.")
        self._held.trash.remove(found[-1])
        self._held.chats[chat] = found[-1].chat
        self._held.beside[chat].update(found[-1].beside)
        self._held.tell(chat, self.changes, is_chat=True)

    async def close(self) -> None:
        """Forget the listeners."""
        self.changes.close()

    def _version(self, chat: ChatId) -> Version:
        stored = self._held.chats.get(chat)
        return stored.version if stored else Version()

    def _put(self, chat: ChatId, version: Version) -> None:
        stored = self._held.chats.get(chat)
        if stored is None or not stored.version.says_the_same(version):
            version.encode()  # what can't be written as JSON is refused
            self._held.chats[chat] = HeldChat(version, time.time_ns())
            self._held.tell(chat, self.changes, is_chat=True)


def _listed(deleted: HeldDeletion) -> DeletedChat:
    row = row_of(deleted.id, deleted.chat.version, deleted.chat)
    return DeletedChat(deleted.name, deleted.id, row.title, row.message_count, deleted.deleted_at)


def _added(listeners: list[ChangeListener], listener: ChangeListener) -> Callable[[], None]:
    def call(chat: ChatId) -> None:  # a new object, so that one listener may be added twice
        listener(chat)

    def unsubscribe() -> None:
        with contextlib.suppress(ValueError):
            listeners.remove(call)

    listeners.append(call)
    return unsubscribe
