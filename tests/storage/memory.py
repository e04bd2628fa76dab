"""A storage in the memory of this process: what each port promises, without a file or database."""

import asyncio
import json
import re
import sqlite3
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, islice, zip_longest
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar

from smart_context.base.errors import CommandFailed
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.documents.document import Version
from smart_context.chat.documents.merge import merge
from smart_context.chat.documents.ownership import OWNED_BY, ownership_of
from smart_context.chat.files.attached_file import (
    AttachedFile,
    ReadText,
    examined,
    image_uri,
    text_in,
)
from smart_context.chat.files.file_text import text_of
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.listed.rows import MOST_LISTED, ChatRow, DeletedChat, in_order, row_of
from smart_context.chat.listed.search import HITS_PER_CHAT, MOST_HITS, ChatHit, hits_in, query_words
from smart_context.chat.messages import Arrived, ChatId, MessageId, Part
from smart_context.storage.alone import NoOthers, OwnLeases
from smart_context.storage.listeners import Listeners
from smart_context.storage.memory import MemoryVectors
from smart_context.storage.merging import ChatLocks, MergingChats
from smart_context.storage.names import (
    deletion_name,
    exists_again,
    name_of,
    not_in_trash,
    parsed_deletion,
)
from smart_context.storage.ports import (
    KEPT_S,
    AnswerClaimed,
    ChangeListener,
    Conflict,
    Document,
    Limits,
    Revision,
    Storage,
    StorageFaults,
)

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
        return self._listeners.add(listener)

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        return self._sidecar_listeners.add(listener)

    async def watch(self) -> None:
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
        chats = self._held.chats.items()
        rows = ((chat, row_of(id_, chat.version, chat)) for id_, chat in chats)
        return in_order((chat, row) for chat, row in rows if row.may_use(person))

    async def revisions(self, person: PersonId, *beside: str) -> dict[ChatId, str]:
        """The state of each chat, of which each write has its own time, and of documents."""
        rows = await self.rows(person)
        return {row.id: self._held.state(row.id, beside) for row in rows}

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        words = query_words(query)
        rows = await self.rows(person) if words else []
        return list(islice(self._hits(rows, words), max(limit, 0)))

    async def nearest(self, *asked: object) -> None:
        """`None`: vectors are to be read."""

    async def faults(self) -> StorageFaults:
        """None: nothing is damaged here."""
        return StorageFaults((), ())

    def _hits(self, rows: list[ChatRow], words: tuple[str, ...]) -> Iterator[ChatHit]:
        for row in rows:
            version = self._held.chats[row.id].version
            yield from islice(hits_in(row.id, version, words), HITS_PER_CHAT)


class MemoryTrash:
    """The deleted chats; satisfies `ChatTrash`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        own = [deleted for deleted in self._held.trash if deleted.person == person]
        return [_listed(deleted) for deleted in own[: -MOST_LISTED - 1 : -1]], len(own)

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        return frozenset(d.id for d in self._held.trash if d.person == person)

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        found = [deleted.person for deleted in self._held.trash if deleted.id == chat_id]
        return found[-1] if found else None

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        gone = [d for d in self._held.trash if d.id == chat_id and deletion in ("", d.name)]
        if not gone:
            raise not_in_trash(chat_id)
        self._held.trash[:] = [d for d in self._held.trash if d not in gone]
        return len(gone)

    async def empty(self, person: PersonId, until: str = "") -> int:
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

    async def run(self, chat: ChatId, work: Callable[[], T]) -> T:
        """Run work on a chat, at once."""
        return work()

    def read(self, chat: ChatId, known: HeldChat | None) -> HeldChat | None:
        return self._held.chats.get(chat)

    def value(self, chat: ChatId, key: str, known: HeldChat | None) -> tuple[Any, HeldChat | None]:
        stored = self.read(chat, known)
        return stored.version.other.get(key) if stored else None, stored

    def put(self, chat: ChatId, version: Version, read: HeldChat | None) -> HeldChat:
        newest = self._held.chats.get(chat)
        if newest is not None and newest is not read:
            version = merge(read.version if read else Version(), newest.version, version)
        version.encode()  # what can't be written as JSON is refused
        stored = HeldChat(version, time.time_ns())
        self._held.chats[chat] = stored
        return stored

    def exists(self, chat: ChatId) -> bool:
        return chat in self._held.chats

    def tell(self, chat: ChatId, stored: HeldChat) -> None:
        self._held.tell(chat, self.changes, is_chat=True)

    async def delete(self, chat: ChatId) -> None:
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
        return MemoryJournal(self._held, check_chat_id(chat_id), message_id)

    def interrupted(self) -> Sequence[ChatId]:
        beside = self._held.beside.items()
        return [
            chat
            for chat, things in beside
            if (journal := things.get(_KIND)) is not None and journal.writer is None
        ]

    def arriving(self, chat_id: ChatId) -> Arrived | None:
        journal = self._held.beside[check_chat_id(chat_id)].get(_KIND)
        return _arrived(journal) if journal else None

    def take_over(self, chat_id: ChatId) -> "TakenOver | None":
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
        if self._journal.writer is self:
            self._journal.writer = None
            self._beside.pop(_KIND, None)

    def release(self) -> None:
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
        if text and self._is_written():
            self._kept().pieces.append(text)

    def step(self, parts: Sequence[Part]) -> None:
        if self._is_written():
            journal = self._kept()
            steps = journal.arrived.steps if journal.arrived else ()
            steps = (*steps, *(dict(part) for part in parts))
            journal.arrived = Arrived(self._message_id, "", steps)
            journal.pieces.clear()

    def flush(self) -> None:
        """Nothing is ever refused here."""

    def finish(self) -> None:
        self._is_over = True
        if self._is_ours():
            self._held.beside[self._chat].pop(_KIND, None)

    def close(self) -> None:
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


_DOCUMENT, _LOG = "document", "log"


class MemoryDocuments:
    """The objects beside the chats; satisfies `ChatDocuments`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        chat = check_chat_id(chat_id)
        found = [self._stored(chat, name) for name in names]
        return tuple(
            last if last is not None and last.revision == document.revision else document
            for document, last in zip_longest(found, known[: len(found)])
        )

    async def replace(
        self,
        chat_id: str,
        name: str,
        value: Mapping[str, Any],
        *,
        expected: Revision | None,
        keeps_copy: bool = False,
    ) -> Document:
        chat = check_chat_id(chat_id)
        if self._stored(chat, name).revision != expected:
            raise Conflict(f"{chat}.{name}")
        if keeps_copy:
            copy = f"{name}.damaged-{expected}"
            self._held.beside[chat][_DOCUMENT, copy] = self._stored(chat, name)
        stored = Document(value=_as_stored(value), revision=next(self._held.numbers))
        self._held.beside[chat][_DOCUMENT, name] = stored
        self._held.tell(chat, self, is_chat=False)
        return stored

    def _stored(self, chat: ChatId, name: str) -> Document:
        sidecar_name(chat, name)  # refuses a bad name
        stored: Document = self._held.beside[chat].get((_DOCUMENT, name), Document())
        return stored


class MemoryVaultDocuments:
    """The objects of the vault as a whole; satisfies `VaultDocuments`."""

    def __init__(self, held: Held) -> None:
        self._held = held.of_vault

    def read(self, kind: str, key: str) -> JsonObject | None:
        stored = self._held.get((_DOCUMENT, kind, key))
        return None if stored is None else _as_stored(stored)

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        name_of(key)  # refuses one that is too long
        self._held[_DOCUMENT, kind, key] = _as_stored(value)
        return f"the memory of this process, as {key!r}"

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        name_of(key)  # refuses one that is too long
        stored = _as_stored(value)
        return self._held.setdefault((_DOCUMENT, kind, key), stored) is stored

    def delete(self, kind: str, key: str) -> bool:
        return self._held.pop((_DOCUMENT, kind, key), None) is not None

    def keys(self, kind: str) -> list[str]:
        return sorted(key for what, of, key in self._held if (what, of) == (_DOCUMENT, kind))


@dataclass(slots=True)
class _Lines:
    kept: list[bytes] = field(default_factory=list)
    added: int = 0


class MemoryLogs:
    """The logs; satisfies `Logs`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> "MemoryLog":
        chat = check_chat_id(chat_id)
        sidecar_name(chat, name)  # refuses a bad name
        return MemoryLog(self._held.beside[chat], (_LOG, name), limits)

    def of_vault(self, kind: str, key: str) -> "MemoryLog":
        return MemoryLog(self._held.of_vault, (_LOG, kind, key))


class MemoryLog:
    """One log; satisfies `Log`."""

    def __init__(self, held: Any, name: tuple[str, ...], limits: Limits | None = None) -> None:
        self._held = held
        self._name = name
        self._limits = limits

    async def append(self, *lines: bytes) -> Revision | None:
        log = self._lines()
        log.kept += lines
        log.added += len(lines)
        limits = self._limits
        if limits and (len(log.kept) > limits.lines + limits.slack or _size(log) > limits.bytes):
            log.kept[:] = log.kept[-limits.lines :]
            while _size(log) > limits.bytes * 3 // 4:
                log.kept.pop(0)
        return log.added or None

    async def revision(self) -> Revision | None:
        """The number of lines that were ever added."""
        return self._lines().added or None

    async def lines(self) -> list[bytes]:
        return [line for line in self._lines().kept if line.strip()]

    async def since(self, place: int) -> tuple[list[bytes], int]:
        kept = self._lines().kept
        return [line for line in kept[place:] if line.strip()], len(kept)

    def _lines(self) -> _Lines:
        log: _Lines = self._held.setdefault(self._name, _Lines())
        return log


def _size(log: _Lines) -> int:
    return sum(len(line) + 1 for line in log.kept)


def _as_stored(value: Mapping[str, Any]) -> JsonObject:
    """What the next reader will see, shared with nobody."""
    stored: JsonObject = json.loads(json.dumps(value))
    return stored


_NAMED = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(slots=True)
class _Blob:
    file: AttachedFile
    content: bytes
    text: bytes | None
    used_at: float


class MemoryBlobs:
    """The files that were attached to messages; satisfies `Blobs`."""

    def __init__(self, held: Held, read_text: ReadText) -> None:
        self._held = held
        self._read_text = read_text

    async def put(self, name: str, content: bytes) -> AttachedFile:
        file, text = await run_uncancelled(lambda: examined(name, content, self._read_text))
        self._held.blobs[file.storage_key] = _Blob(file, content, text, time.time())
        return file

    async def info(self, key: str) -> AttachedFile | None:
        blob = self._blob(key)
        return None if blob is None else blob.file

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        blob = self._blob(id)
        if blob is None or blob.text is None:
            return None if blob is None else text_in(id, blob.content)
        return blob.text.decode("utf-8", "replace")

    async def content(self, key: str) -> bytes | None:
        blob = self._blob(key)
        return None if blob is None else blob.content

    async def data_uri(self, key: str) -> str | None:
        return image_uri(await self.content(key))

    async def keep(self, key: str) -> None:
        if blob := self._blob(key):
            blob.used_at = time.time()

    def remove_unused(self, now: float) -> Sequence[str]:
        """Remove the files that nothing has named for a week; returns their keys."""
        named = {key for text in self._texts() for key in _NAMED.findall(text)}
        blobs = self._held.blobs
        old = {key for key, blob in blobs.items() if blob.used_at < now - KEPT_S}
        for key in (unused := sorted(old - named)):
            del blobs[key]
        return unused

    def _blob(self, key: str) -> _Blob | None:
        blob: _Blob | None = self._held.blobs.get(key)
        return blob

    def _texts(self) -> Iterator[str]:
        held = self._held
        deletions = [deletion.chat for deletion in held.trash]
        for chat in (*held.chats.values(), *deletions):
            yield chat.version.encode().decode("utf-8", "replace")
        for beside in (*held.beside.values(), *(d.beside for d in held.trash)):
            yield repr(beside)
        yield repr(held.of_vault)


@dataclass(slots=True, weakref_slot=True)
class MemoryCaches:
    """Files and databases by name; satisfies `Caches`."""

    _files: dict[str, bytes] = field(default_factory=dict)
    _databases: dict[str, tuple[str, sqlite3.Connection]] = field(default_factory=dict)

    def can_keep(self) -> bool:
        """Always true."""
        return True

    def has(self, name: str) -> bool:
        return name in self._files or name in self._databases

    def read(self, name: str) -> bytes:
        try:
            return self._files[name]
        except KeyError as error:
            raise FileNotFoundError(name) from error

    def write(self, name: str, content: bytes) -> None:
        self._files[name] = content

    def database(
        self,
        name: str,
        *,
        timeout_s: float,
        max_bytes: int | None = None,
        check_same_thread: bool = True,
    ) -> sqlite3.Connection:
        """A connection to a database, which stays until it is removed."""
        if name not in self._databases:
            address = f"file:{token_hex(8)}?mode=memory&cache=shared"
            keeping = sqlite3.connect(address, uri=True, check_same_thread=False)
            self._databases[name] = address, keeping
            weakref.finalize(self, keeping.close)
        return sqlite3.connect(
            self._databases[name][0],
            uri=True,
            timeout=timeout_s,
            check_same_thread=check_same_thread,
        )

    def remove_database(self, name: str) -> None:
        if found := self._databases.pop(name, None):
            found[1].close()


def memory_storage(held: Held | None = None, *, read_text: ReadText = text_of) -> Storage:
    """A storage that is gone with its process.

    Args:
        held: What other storages hold together with it; by default it holds its own.
        read_text: Reads new attached files.
    """
    held = held or Held()
    blobs = MemoryBlobs(held, read_text)
    return Storage(
        chats=memory_chats(held),
        documents=MemoryDocuments(held),
        vault_documents=MemoryVaultDocuments(held),
        logs=MemoryLogs(held),
        vectors=MemoryVectors(held.beside),
        blobs=blobs,
        answers=MemoryAnswers(held),
        events=NoOthers(),
        leases=OwnLeases(),
        caches=MemoryCaches(),
        clear_up=blobs.remove_unused,
    )
