"""The chats over any store of versions: changes are merged, never overwritten (docs/chats.md).

Callers get copies. Blocking work runs in threads. Changes of one chat are serialised: in this
process by a lock for each chat, between processes by comparing the stored state right before it is
replaced.

A request, and the work that it starts, looks for changes by other processes at most once a second,
as it does for a chat's owner (`base/lookups.py`): a turn reads its chat a dozen times. Changes of
this process are known at once, and a change always starts from the stored version.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from smart_context.base.errors import StorageAway
from smart_context.base.json_limits import holds_more
from smart_context.base.lookups import Lookups
from smart_context.base.threads import beside, run_uncancelled
from smart_context.base.values import JsonObject
from smart_context.chat.documents.document import (
    Since,
    Version,
    copy_json,
    followed_by,
    part_since,
    whole,
)
from smart_context.chat.documents.lineage import ANYBODY, Lineage
from smart_context.chat.documents.merge import changed, saved
from smart_context.chat.ids import check_chat_id, unknown_chat
from smart_context.chat.listed.rows import checked_title
from smart_context.chat.messages import ChatId, Message
from smart_context.storage.ports import ChatParts

_COPIED_AT_ONCE = 100
"""The most messages that are copied in the event loop rather than in a thread."""
_ENTRIES_COPIED_AT_ONCE = 5_000
"""The most other values that are copied there; they take some milliseconds."""

T = TypeVar("T")


class StoredVersion(Protocol):
    """A version as it was stored."""

    @property
    def version(self) -> Version:
        """The version of the document."""

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""


S = TypeVar("S", bound=StoredVersion)


class VersionStore(ChatParts, Protocol[S]):
    """Keeps the newest version of each chat, its list and its trash."""

    async def run(self, chat: ChatId, work: Callable[[], T]) -> T:
        """Run blocking work on a chat in a thread, until its end; handles damaged documents."""

    def read(self, chat: ChatId, known: S | None) -> S | None:
        """The stored version; `known` itself if nothing has changed. Blocks."""

    def put(self, chat: ChatId, version: Version, read: S | None) -> S:
        """Store a version that was derived from `read`, merged with changes since then. Blocks."""

    def value(self, chat: ChatId, key: str, known: S | None) -> tuple[Any, S | None]:
        """One of the document's other values, not to be changed, and the read version. Blocks."""

    def exists(self, chat: ChatId) -> bool:
        """True if the chat is stored. Blocks."""

    def tell(self, chat: ChatId, stored: S) -> None:
        """Report that this version was stored."""

    async def delete(self, chat: ChatId) -> None:
        """Move the chat, and all that belongs to it, to the trash."""

    async def restore(self, chat: ChatId, deletion: str) -> None:
        """Restore a deleted chat."""

    async def close(self) -> None:
        """Remove the listeners, and store what makes the next start fast."""


class MergingChats(Generic[S]):
    """The chats of one vault; satisfies `Chats`.

    Args:
        locks: The locks of the chats; the store may use them, too.
    """

    def __init__(self, store: VersionStore[S], locks: "ChatLocks") -> None:
        self._store = store
        self._locks = locks
        self._recent: RecentVersions[S] = RecentVersions()
        self._is_current: Lookups[ChatId, bool] = Lookups()
        self._lineage = Lineage()
        self.listing = store.listing
        self.changes = store.changes
        self.trash = store.trash

    async def load(self, chat_id: str, *, reader: str = ANYBODY) -> JsonObject:
        chat = check_chat_id(chat_id)
        version, document = await self._read(chat, lambda version: (version, version.copy()))
        self._lineage.loaded(chat, reader, version)
        return document

    async def messages(self, chat_id: str) -> tuple[Message, ...]:
        """The messages, oldest first. Only those that changed since the last call are parsed."""
        chat = check_chat_id(chat_id)
        seen = self._seen(chat)
        if seen is not None and seen.version.is_parsed:
            return seen.version.messages
        return await self._read(chat, lambda version: version.messages)

    async def snapshot(self, chat_id: str, *keys: str) -> tuple[tuple[Message, ...], JsonObject]:
        chat = check_chat_id(chat_id)
        seen = self._seen(chat)
        if keys and seen is not None and seen.version.is_parsed:
            version = seen.version
            if not holds_more([version.other.get(key) for key in keys], _ENTRIES_COPIED_AT_ONCE):
                return version.messages, version.others(*keys)
        return await self._read(chat, lambda version: (version.messages, version.others(*keys)))

    async def value(self, chat_id: str, key: str) -> Any:
        chat = check_chat_id(chat_id)
        if (seen := self._seen(chat)) is not None:
            value = seen.version.other.get(key)
            if not holds_more(value, _ENTRIES_COPIED_AT_ONCE):
                return copy_json(value)

        def work() -> Any:
            known = self._recent.get(chat)
            value, stored = self._store.value(chat, key, known)
            if stored is not None:
                self._saw(chat, stored, known)
            return copy_json(value)

        return await self._store.run(chat, work)

    async def exists(self, chat_id: str) -> bool:
        chat = check_chat_id(chat_id)
        if self._seen(chat) is not None:
            return True
        try:
            return await self._store.run(chat, lambda: self._store.exists(chat))
        except StorageAway:
            if self._recent.get(chat) is None:
                raise
            return True

    async def save(
        self, chat_id: str, document: Mapping[str, Any], *, reader: str = ANYBODY
    ) -> JsonObject:
        chat = check_chat_id(chat_id)
        async with self._locks.of(chat):
            read = await self._newest(chat)
            ancestry = self._lineage.of(chat, reader)

            def work() -> tuple[Version, S]:
                ours, merged = saved(document, ancestry, read.version if read else None)
                return ours, self._put(chat, merged, read)

            ours, stored = await self._store.run(chat, work)
            self._lineage.sent(chat, reader, ours)
            if not stored.version.says_the_same(ours):
                self._lineage.returned(chat, reader, stored.version)
            self._note(chat, stored, read)
            return await run_uncancelled(stored.version.copy)

    async def update(
        self,
        chat_id: str,
        change: Callable[[JsonObject], None],
        *,
        since: Since = whole,
        creates: bool = True,
    ) -> JsonObject:
        chat = check_chat_id(chat_id)
        async with self._locks.of(chat):
            read = await self._newest(chat)
            if read is None and not creates:
                raise unknown_chat(chat)
            before = read.version if read else Version()
            first = since(before)
            part = part_since(before, first)
            is_long = len(part.entries) > _COPIED_AT_ONCE or holds_more(
                list(part.other.values()), _ENTRIES_COPIED_AT_ONCE
            )
            document = await beside(part.copy, is_long=is_long)
            change(document)

            def work() -> S | None:
                version = followed_by(before, first, changed(document, part))
                is_nothing = read is None and version.says_the_same(before)
                return None if is_nothing else self._put(chat, version, read)

            stored = await self._store.run(chat, work)
            self._note(chat, stored, read)
            if stored is None or first:
                return document
            return await run_uncancelled(stored.version.copy)

    async def rename(self, chat_id: str, title: str) -> str:
        chat, wanted = check_chat_id(chat_id), checked_title(title)
        await self.update(chat, lambda document: document.update(title=wanted), creates=False)
        return wanted

    async def delete(self, chat_id: str) -> None:
        chat = check_chat_id(chat_id)
        async with self._locks.of(chat):
            await self._store.delete(chat)
            self._recent.put(chat, None)

    async def restore(self, chat_id: str, deletion: str = "") -> None:
        chat = check_chat_id(chat_id)
        async with self._locks.of(chat):
            await self._store.restore(chat, deletion)

    async def close(self) -> None:
        await self._store.close()

    async def _newest(self, chat: ChatId) -> S | None:
        return await self._store.run(chat, lambda: self._newest_now(chat))

    async def _read(self, chat: ChatId, view: Callable[[Version], T]) -> T:
        def work() -> T:
            try:
                stored = self._newest_now(chat)
            except StorageAway:
                stored = self._recent.get(chat)
                if stored is None:
                    raise
                # Show the version that is known; changes are refused until the storage is back.
            return view(stored.version if stored else Version())

        return await self._store.run(chat, work)

    def _newest_now(self, chat: ChatId) -> S | None:
        """The newest version. Blocks.

        The known version is looked up here, in the thread, right before the store is read, and the
        read version is noted here: else a reader next to a writer would read a long chat again.
        """
        known = self._recent.get(chat)
        stored = self._store.read(chat, known)
        self._saw(chat, stored, known)
        return stored

    def _seen(self, chat: ChatId) -> S | None:
        """The version that this request read, or a newer one that this process has written."""
        return self._recent.get(chat) if self._is_current.get(chat) else None

    def _saw(self, chat: ChatId, stored: S | None, known: S | None) -> None:
        """Remember a read version, unless another thread has noted one, which may be newer."""
        if self._recent.replace(chat, known, stored):
            self._is_current.keep(chat, value=True)

    def _put(self, chat: ChatId, version: Version, read: S | None) -> S:
        if read is not None and version.says_the_same(read.version):
            return read
        stored = self._store.put(chat, version, read)
        self._recent.put(chat, stored)  # at once: until then a reader reads the whole file again
        self._is_current.keep(chat, value=True)
        if read is not None and read.version.is_parsed:
            _ = stored.version.messages  # parsed now, in this thread: a reader will need them
        return stored

    def _note(self, chat: ChatId, stored: S | None, read: S | None) -> None:
        if stored is not None and stored is not read:
            self._store.tell(chat, stored)


class ChatLocks:
    """A lock for each chat; a writer holds it until its change is reported."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    def of(self, chat: ChatId) -> asyncio.Lock:
        """The lock of a chat."""
        return self._locks.setdefault(chat, asyncio.Lock())

    def __len__(self) -> int:
        """The number of locks that are held or waited for."""
        return len(self._locks)


class RecentVersions(Generic[S]):
    """Keeps the versions last read or written: up to `max_bytes` in all, but at least one.

    Threads may use it.
    """

    def __init__(self, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._stored: OrderedDict[ChatId, S] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, chat_id: ChatId) -> S | None:
        """The version last seen of a chat; may be out of date."""
        return self._stored.get(chat_id)

    def put(self, chat_id: ChatId, stored: S | None) -> None:
        """Remember a chat's version; `None` forgets the chat."""
        with self._lock:
            self._put(chat_id, stored)

    def replace(self, chat_id: ChatId, known: S | None, stored: S | None) -> bool:
        """Remember a version in place of `known`; false if another has replaced that already."""
        with self._lock:
            if self._stored.get(chat_id) is not known:
                return False
            self._put(chat_id, stored)
            return True

    def _put(self, chat_id: ChatId, stored: S | None) -> None:
        previous = self._stored.pop(chat_id, None)
        self._size -= previous.size if previous else 0
        if stored is None:
            return
        self._stored[chat_id] = stored
        self._size += stored.size
        while self._size > self._max_bytes and len(self._stored) > 1:
            self._size -= self._stored.popitem(last=False)[1].size
