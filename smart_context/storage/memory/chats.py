"""Chats in memory, and the answers that are being written to them; gone with their process."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, islice
from typing import Any, NamedTuple, TypeVar

from smart_context.base.errors import CommandFailed
from smart_context.base.values import PersonId
from smart_context.chat.documents.document import OWNED_BY, Version, ownership_of
from smart_context.chat.documents.merge import merge
from smart_context.chat.ids import check_chat_id
from smart_context.chat.listed.rows import (
    MOST_LISTED,
    ChatRow,
    DeletedChat,
    in_order,
    row_of,
)
from smart_context.chat.listed.search import HITS_PER_CHAT, MOST_HITS, ChatHit, hits_in, query_words
from smart_context.chat.messages import Arrived, ChatId, MessageId, Part
from smart_context.storage.alone import Listeners
from smart_context.storage.deletions import (
    deletion_name,
    exists_again,
    not_in_trash,
    parsed_deletion,
)
from smart_context.storage.merging import ChatLocks, MergingChats
from smart_context.storage.ports import AnswerClaimed, ChangeListener, Faults

Watcher = Callable[[ChatId, object, bool], None]
"""Called with a chat that changed, whose change it was, and whether it was the chat itself."""


class HeldChat(NamedTuple):
    """A version of a chat, and when it was written, in ns since 1970."""

    version: Version
    mtime_ns: int

    @property
    def size(self) -> int:
        """What it takes to remember it, in bytes: nothing more, as it is held already."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldDeletion:
    """A chat in the trash, and what stood beside it."""

    name: str
    id: ChatId
    deleted_at: str
    chat: HeldChat
    beside: dict[Hashable, Any]

    @property
    def person(self) -> PersonId:
        """Whose the chat was."""
        return ownership_of(self.chat.version.other.get(OWNED_BY)).person


@dataclass(slots=True, kw_only=True)
class Held:
    """All that is stored."""

    chats: dict[ChatId, HeldChat] = field(default_factory=dict)
    # what stands beside each chat, by kind and name
    beside: dict[ChatId, dict[Hashable, Any]] = field(default_factory=lambda: defaultdict(dict))
    trash: list[HeldDeletion] = field(default_factory=list)  # the deleted chats, the newest last
    # what the vault has as a whole, by kind and key
    of_vault: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    blobs: dict[str, Any] = field(default_factory=dict)  # the attached files, by key
    watchers: list[Watcher] = field(default_factory=list)  # called after each change
    # numbers that were not given yet
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def state(self, chat: ChatId, beside: Iterable[str]) -> str:
        """When a chat was written, and the revisions of documents beside it."""
        documents = self.beside[chat]
        known = (documents.get(("document", name)) for name in beside)
        return " ".join(map(str, [self.chats[chat].mtime_ns, *(d and d.revision for d in known)]))

    def tell(self, chat: ChatId, by: object, *, is_chat: bool) -> None:
        """Tell all watchers of a change."""
        for watcher in [*self.watchers]:
            watcher(chat, by, is_chat)


T = TypeVar("T")


class MemoryChanges:
    """Tells listeners of changes; satisfies `ChatChanges`."""

    def __init__(self, held: Held) -> None:
        self._listeners = Listeners()
        self._sidecar_listeners = Listeners()
        self._is_watching = False
        held.watchers.append(self._tell)

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after each stored change of any chat."""
        return self._listeners.add(listener)

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after a document beside a chat changed, while `watch` runs."""
        return self._sidecar_listeners.add(listener)

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
            (self._listeners if is_chat else self._sidecar_listeners).tell(chat)


class MemoryList:
    """The list of chats, and the search in them; satisfies `ChatList`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    async def rows(self, person: PersonId) -> list[ChatRow]:
        """The chats that a person has or that are shared, newest first."""
        chats = self._held.chats.items()
        rows = ((chat, row_of(id_, chat.version, chat)) for id_, chat in chats)
        return in_order((chat, row) for chat, row in rows if row.may_use(person))

    async def revisions(self, person: PersonId, *beside: str) -> dict[ChatId, str]:
        """The state of each chat, of which each write has its own time, and of documents."""
        rows = await self.rows(person)
        return {row.id: self._held.state(row.id, beside) for row in rows}

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        """The messages and titles that contain all words of the query, newest chats first."""
        words = query_words(query)
        rows = await self.rows(person) if words else []
        return list(islice(self._hits(rows, words), max(limit, 0)))

    async def nearest(self, *asked: object) -> None:
        """`None`: vectors are to be read."""

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
        own = [deleted for deleted in self._held.trash if deleted.person == person]
        return [_listed(deleted) for deleted in own[: -MOST_LISTED - 1 : -1]], len(own)

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        """The ids of all of a person's deleted chats, however many."""
        return frozenset(d.id for d in self._held.trash if d.person == person)

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        """Whose the chat was that was last deleted under an id; `None` if there is none."""
        found = [deleted.person for deleted in self._held.trash if deleted.id == chat_id]
        return found[-1] if found else None

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        """Remove a deleted chat for ever; returns the number of deletions removed."""
        gone = [d for d in self._held.trash if d.id == chat_id and deletion in ("", d.name)]
        if not gone:
            raise not_in_trash(chat_id)
        self._held.trash[:] = [d for d in self._held.trash if d not in gone]
        return len(gone)

    async def empty(self, person: PersonId, until: str = "") -> int:
        """Remove a person's deleted chats for ever; returns the number of deletions removed."""
        kept = [
            d for d in self._held.trash if d.person != person or (until and d.deleted_at > until)
        ]
        removed = len(self._held.trash) - len(kept)
        self._held.trash[:] = kept
        return removed


class MemoryVersions:
    """The newest version of each chat; satisfies `VersionStore`. Nothing here blocks for long."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self.listing = MemoryList(held)
        self.changes = MemoryChanges(held)
        self.trash = MemoryTrash(held)

    async def run(self, chat: ChatId, work: Callable[[], T]) -> T:  # noqa: ARG002 - no damage here
        """Run work on a chat, at once."""
        return work()

    def read(self, chat: ChatId, known: HeldChat | None) -> HeldChat | None:  # noqa: ARG002 - it is here
        """The stored version."""
        return self._held.chats.get(chat)

    def value(self, chat: ChatId, key: str, known: HeldChat | None) -> tuple[Any, HeldChat | None]:
        """One of the document's other values, and the version that has it."""
        stored = self.read(chat, known)
        return stored.version.other.get(key) if stored else None, stored

    def put(self, chat: ChatId, version: Version, read: HeldChat | None) -> HeldChat:
        """Store a version that was derived from `read`, merged with changes since then."""
        newest = self._held.chats.get(chat)
        if newest is not None and newest is not read:
            version = merge(read.version if read else Version(), newest.version, version)
        version.encode()  # what can't be written as JSON is refused
        stored = HeldChat(version, time.time_ns())
        self._held.chats[chat] = stored
        return stored

    def exists(self, chat: ChatId) -> bool:
        """True if the chat is stored."""
        return chat in self._held.chats

    def tell(self, chat: ChatId, stored: HeldChat) -> None:  # noqa: ARG002 - each has its own time
        """Report that this version was stored."""
        self._held.tell(chat, self.changes, is_chat=True)

    async def delete(self, chat: ChatId) -> None:
        """Move the chat, and what stands beside it, to the trash."""
        if chat not in self._held.chats:
            raise CommandFailed(f"There is no chat {chat!r} to delete.")
        name = deletion_name(chat, datetime.now(UTC), next(self._held.numbers))
        deleted = HeldDeletion(
            name=name,
            id=chat,
            deleted_at=parsed_deletion(name)[1],
            chat=self._held.chats.pop(chat),
            beside=self._held.beside.pop(chat, {}),
        )
        self._held.trash.append(deleted)
        self._held.tell(chat, self.changes, is_chat=True)

    async def restore(self, chat: ChatId, deletion: str) -> None:
        """Restore a deleted chat, with what stood beside it."""
        found = [d for d in self._held.trash if d.id == chat and deletion in ("", d.name)]
        if not found:
            raise not_in_trash(chat)
        if chat in self._held.chats:
            raise exists_again(chat)
        self._held.trash.remove(found[-1])
        self._held.chats[chat] = found[-1].chat
        self._held.beside[chat].update(found[-1].beside)
        self._held.tell(chat, self.changes, is_chat=True)

    async def close(self) -> None:
        """Forget the listeners."""
        self.changes.close()


def memory_chats(held: Held) -> MergingChats[HeldChat]:
    """The chats that are held."""
    return MergingChats(MemoryVersions(held), ChatLocks())


def _listed(deleted: HeldDeletion) -> DeletedChat:
    row = row_of(deleted.id, deleted.chat.version, deleted.chat)
    return DeletedChat(deleted.name, deleted.id, row.title, row.message_count, deleted.deleted_at)


_KIND = "answer"


@dataclass(slots=True)
class _Journal:
    """What has arrived, and who is writing it; nobody after a close."""

    writer: object
    arrived: Arrived | None = None
    pieces: list[str] = field(default_factory=list)


class MemoryAnswers:
    """The journals beside the chats; satisfies `Answers`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def journal(self, chat_id: ChatId, message_id: MessageId) -> "MemoryJournal":
        """The journal of an answer, not yet claimed."""
        return MemoryJournal(self._held, check_chat_id(chat_id), message_id)

    def interrupted(self) -> Sequence[ChatId]:
        """The chats that have a journal which nobody is writing."""
        beside = self._held.beside.items()
        return [
            chat
            for chat, things in beside
            if (journal := things.get(_KIND)) is not None and journal.writer is None
        ]

    def arriving(self, chat_id: ChatId) -> Arrived | None:
        """What is in the journal of a chat's answer."""
        journal = self._held.beside[check_chat_id(chat_id)].get(_KIND)
        return _arrived(journal) if journal else None

    def take_over(self, chat_id: ChatId) -> "TakenOver | None":
        """Claim the answer of a chat to repair it; `None` if it is being written."""
        beside = self._held.beside[check_chat_id(chat_id)]
        journal = beside.setdefault(_KIND, _Journal(None))
        if journal.writer is not None:
            return None
        taken = TakenOver(beside, journal)
        journal.writer = taken
        return taken


class TakenOver:
    """A claimed journal that was left behind; satisfies `InterruptedAnswer`."""

    def __init__(self, beside: dict[object, object], journal: _Journal) -> None:
        self._beside = beside
        self._journal = journal
        self.arrived = _arrived(journal)

    def remove(self) -> None:
        """Remove it: the chat holds what there is."""
        if self._journal.writer is self:
            self._journal.writer = None
            self._beside.pop(_KIND, None)

    def release(self) -> None:
        """Let others claim the chat's answer; does nothing after `remove`."""
        if self._journal.arrived is None:
            self.remove()
        elif self._journal.writer is self:
            self._journal.writer = None


class MemoryJournal:
    """The pieces of one answer; satisfies `AnswerJournal`."""

    problem = ""

    def __init__(self, held: Held, chat: ChatId, message_id: MessageId) -> None:
        self._held = held
        self._chat = chat
        self._message_id = message_id
        self._is_over = False
        self._has_begun = False

    def claim(self) -> Arrived | None:
        """Keep others from answering in this chat; returns what was left of its last answer."""
        left = self._held.beside[self._chat].setdefault(_KIND, _Journal(self))
        if left.writer not in (None, self):
            raise AnswerClaimed(self._chat)
        left.writer = self
        return _arrived(left)

    def reserve(self) -> None:
        """Forget what was left."""
        if self._is_ours():
            self._begin()

    def append(self, text: str) -> None:
        """Write the next piece."""
        if text and self._is_written():
            self._kept().pieces.append(text)

    def step(self, parts: Sequence[Part]) -> None:
        """Write the parts that led to the answer; they replace the pieces so far."""
        if self._is_written():
            journal = self._kept()
            steps = journal.arrived.steps if journal.arrived else ()
            steps = (*steps, *(dict(part) for part in parts))
            journal.arrived = Arrived(self._message_id, "", steps)
            journal.pieces.clear()

    def flush(self) -> None:
        """Nothing is ever refused here."""

    def finish(self) -> None:
        """Remove the journal: the answer is in the chat."""
        self._is_over = True
        if self._is_ours():
            self._held.beside[self._chat].pop(_KIND, None)

    def close(self) -> None:
        """Stop journalling and leave what there is for the next start."""
        self._is_over = True
        if self._is_ours():
            journal = self._kept()
            journal.writer = None
            if journal.arrived is None:
                self._held.beside[self._chat].pop(_KIND, None)

    def _kept(self) -> _Journal:
        journal: _Journal = self._held.beside[self._chat][_KIND]
        return journal

    def _is_ours(self) -> bool:
        journal = self._held.beside[self._chat].get(_KIND)
        return journal is not None and journal.writer is self

    def _is_written(self) -> bool:
        """True if the next piece can be kept, which begins the journal."""
        if self._is_over:
            return False
        if not self._is_ours():
            journal = self._held.beside[self._chat].setdefault(_KIND, _Journal(self))
            if journal.writer not in (None, self):
                return False
            journal.writer = self
        if not self._has_begun:
            self._begin()
        return True

    def _begin(self) -> None:
        self._has_begun = True
        journal = self._kept()
        journal.arrived = Arrived(self._message_id, "")
        journal.pieces.clear()


def _arrived(journal: _Journal) -> Arrived | None:
    found = journal.arrived
    return found and found._replace(text="".join(journal.pieces))
