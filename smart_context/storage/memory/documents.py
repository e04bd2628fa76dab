"""A storage in this process's memory, and what is kept beside chats: documents, logs, files."""

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from secrets import token_hex
from typing import Any

import numpy as np

from smart_context.base.threads import run_uncancelled
from smart_context.base.values import JsonObject
from smart_context.chat.files.attached_file import AttachedFile, examined, image_uri, text_in
from smart_context.chat.files.costly_files import ReadText
from smart_context.chat.files.file_text import text_of
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.storage.alone import NoOthers, OwnLeases
from smart_context.storage.keys import name_of
from smart_context.storage.memory.chats import Held, MemoryAnswers, memory_chats
from smart_context.storage.ports import (
    KEPT_S,
    Conflict,
    Document,
    Limits,
    Revision,
    Storage,
    Stored,
    no_vectors,
)

_DOCUMENT, _LOG = "document", "log"


class MemoryDocuments:
    """The objects beside the chats; satisfies `ChatDocuments`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        """The objects of these names."""
        chat = check_chat_id(chat_id)
        found = [self._stored(chat, name) for name in names]
        return tuple(
            last if last is not None and last.revision == document.revision else document
            for document, last in zip_longest(found, known[: len(found)])
        )

    async def replace(
        self, chat_id: str, name: str, value: Mapping[str, Any], *, expected: Revision | None
    ) -> Document:
        """Replace an object if its revision still is the expected one."""
        chat = check_chat_id(chat_id)
        if self._stored(chat, name).revision != expected:
            raise Conflict(f"{chat}.{name}")
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
        """The object; `None` if there is none."""
        stored = self._held.get((_DOCUMENT, kind, key))
        return None if stored is None else _as_stored(stored)

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        """Store an object in place of the previous one; returns where it is, for users."""
        name_of(key)  # refuses one that is too long
        self._held[_DOCUMENT, kind, key] = _as_stored(value)
        return f"the memory of this process, as {key!r}"

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        """Store an object unless there is one; True if it was stored."""
        name_of(key)  # refuses one that is too long
        stored = _as_stored(value)
        return self._held.setdefault((_DOCUMENT, kind, key), stored) is stored

    def delete(self, kind: str, key: str) -> bool:
        """Delete an object; True if there was one."""
        return self._held.pop((_DOCUMENT, kind, key), None) is not None

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, sorted."""
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
        """A log beside a chat."""
        chat = check_chat_id(chat_id)
        sidecar_name(chat, name)  # refuses a bad name
        return MemoryLog(self._held.beside[chat], (_LOG, name), limits)

    def of_vault(self, kind: str, key: str) -> "MemoryLog":
        """A log of the vault as a whole."""
        return MemoryLog(self._held.of_vault, (_LOG, kind, key))


class MemoryLog:
    """One log; satisfies `Log`."""

    def __init__(self, held: Any, name: tuple[str, ...], limits: Limits | None = None) -> None:
        self._held = held
        self._name = name
        self._limits = limits

    async def append(self, *lines: bytes) -> None:
        """Add lines, all or none."""
        log = self._lines()
        log.kept += lines
        log.added += len(lines)
        limits = self._limits
        if limits and (len(log.kept) > limits.lines + limits.slack or _size(log) > limits.bytes):
            log.kept[:] = log.kept[-limits.lines :]
            while _size(log) > limits.bytes * 3 // 4:
                log.kept.pop(0)

    async def revision(self) -> Revision | None:
        """The number of lines that were ever added."""
        return self._lines().added or None

    async def lines(self) -> list[bytes]:
        """The lines that are kept, oldest first, without empty ones."""
        return [line for line in self._lines().kept if line.strip()]

    async def since(self, place: int) -> tuple[list[bytes], int]:
        """The lines that were added since, and the place to go on from."""
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
        """Store a file."""
        file, text = await run_uncancelled(lambda: examined(name, content, self._read_text))
        self._held.blobs[file.storage_key] = _Blob(file, content, text, time.time())
        return file

    async def info(self, key: str) -> AttachedFile | None:
        """A file's name, type and size; `None` when it is gone."""
        blob = self._blob(key)
        return None if blob is None else blob.file

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        """The text of a file; `None` when it has none, or is gone."""
        blob = self._blob(id)
        if blob is None or blob.text is None:
            return None if blob is None else text_in(id, blob.content)
        return blob.text.decode("utf-8", "replace")

    async def content(self, key: str) -> bytes | None:
        """All of a file; `None` when it is gone."""
        blob = self._blob(key)
        return None if blob is None else blob.content

    async def data_uri(self, key: str) -> str | None:
        """An image as a model takes it; `None` for anything else, and for one that is too large."""
        return image_uri(await self.content(key))

    async def keep(self, key: str) -> None:
        """Note that a file is used again, so that it is not removed as unused."""
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


@dataclass(slots=True)
class MemoryCaches:
    """Files and databases by name; satisfies `Caches`."""

    _files: dict[str, bytes] = field(default_factory=dict)
    _databases: dict[str, tuple[str, sqlite3.Connection]] = field(default_factory=dict)

    def can_keep(self) -> bool:
        """Always true."""
        return True

    def has(self, name: str) -> bool:
        """True if something is kept under the name."""
        return name in self._files or name in self._databases

    def read(self, name: str) -> bytes:
        """The content of a file."""
        try:
            return self._files[name]
        except KeyError as error:
            raise FileNotFoundError(name) from error

    def write(self, name: str, content: bytes) -> None:
        """Replace a file."""
        self._files[name] = content

    def database(
        self,
        name: str,
        *,
        timeout_s: float,
        max_bytes: int | None = None,  # noqa: ARG002 - nobody else writes to it
        check_same_thread: bool = True,
    ) -> sqlite3.Connection:
        """A connection to a database, which stays until it is removed."""
        if name not in self._databases:
            address = f"file:{token_hex(8)}?mode=memory&cache=shared"
            keeping = sqlite3.connect(address, uri=True, check_same_thread=False)
            self._databases[name] = address, keeping
        return sqlite3.connect(
            self._databases[name][0],
            uri=True,
            timeout=timeout_s,
            check_same_thread=check_same_thread,
        )

    def remove_database(self, name: str) -> None:
        """Remove a database that is not open."""
        if found := self._databases.pop(name, None):
            found[1].close()


_KIND = "vectors"


@dataclass(frozen=True, slots=True)
class _Kept:
    model: str
    keys: tuple[str, ...]
    rows: Matrix
    has_additions: bool = False


class MemoryVectors:
    """The vectors beside the chats; satisfies `Vectors`."""

    def __init__(self, held: Held | None = None) -> None:
        self._held = held or Held()

    def of(self, chat_id: ChatId, model: str) -> "HeldVectors":
        """Those of a chat by a model."""
        return HeldVectors(self._held, check_chat_id(chat_id), model)


@dataclass(slots=True)
class HeldVectors:
    """The vectors of one chat; satisfies `ChatVectors`."""

    _held: Held
    _chat: ChatId
    _model: str
    has_additions: bool = field(default=False, init=False)

    def read(self) -> Stored:
        """The vectors as they were given; none if they are another model's."""
        kept = self._kept()
        self.has_additions = kept is not None and kept.has_additions
        return no_vectors() if kept is None else ([*kept.keys], kept.rows.copy())

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Store these in place of all."""
        self._keep(keys, vectors, has_additions=False)

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; those of another width take the place of the others."""
        kept = self._kept()
        if kept is not None and kept.rows.shape[1] == vectors.shape[1]:
            keys, vectors = (*kept.keys, *keys), np.concatenate([kept.rows, vectors])
        self._keep(keys, vectors, has_additions=True)

    def _kept(self) -> _Kept | None:
        kept = self._held.beside[self._chat].get(_KIND)
        is_ours = isinstance(kept, _Kept) and kept.model == self._model
        return kept if is_ours else None

    def _keep(self, keys: Sequence[str], vectors: Matrix, *, has_additions: bool) -> None:
        rows = vectors.astype(np.float32)
        kept = _Kept(self._model, tuple(keys), rows, has_additions)
        self._held.beside[self._chat][_KIND] = kept
        self.has_additions = has_additions


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
        vectors=MemoryVectors(held),
        blobs=blobs,
        answers=MemoryAnswers(held),
        events=NoOthers(),
        leases=OwnLeases(),
        caches=MemoryCaches(),
        clear_up=blobs.remove_unused,
    )
