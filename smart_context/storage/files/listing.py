"""The list of chats, and the search in them; reads only files that changed."""

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import islice
from typing import Any

from smart_context.base.disk.files import Signature, open_file, read_file, signature_in
from smart_context.base.disk.folders import Folder, names_inside, opened
from smart_context.base.disk.places import Place
from smart_context.base.disk.shared_file import read_object, write_object
from smart_context.base.errors import StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import PersonId
from smart_context.chat.documents.document import NotAChat, read_version
from smart_context.chat.ids import chat_id_of, sidecar_name
from smart_context.chat.listed.rows import (
    ChatRow,
    damaged_row,
    in_order,
    row_of,
)
from smart_context.chat.listed.search import (
    HITS_PER_CHAT,
    MOST_HITS,
    ChatHit,
    hits_in,
    may_contain,
    query_words,
)
from smart_context.chat.messages import ChatId
from smart_context.storage.files.chat_files import Stored
from smart_context.storage.ports import StorageFaults

INDEX_NAME = ".index.json"
"""The rows on disk: a cache, rebuilt when it is damaged or missing."""

_INDEX_VERSION = 7
_WORTH_AN_INDEX = 1024 * 1024


class FileList:
    """The chats in a folder, one row each; satisfies `ChatList`.

    Once more than 1 MiB had to be read for the rows, they are kept in `.index.json`.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._lock = asyncio.Lock()
        self._known: dict[ChatId, tuple[Signature, ChatRow]] = {}
        self._has_index = False
        self._bytes_read = 0

    async def rows(self, person: PersonId) -> list[ChatRow]:
        return [row for row in await self._all() if row.may_use(person)]

    async def revisions(self, person: PersonId, *beside: str) -> dict[ChatId, str]:
        """The states of the files: each one's time of writing, size and inode."""
        async with self._lock:
            return await run_uncancelled(lambda: self._revisions(person, beside))

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        words = query_words(query)
        if not words:
            return []
        async with self._lock:
            return await run_uncancelled(
                lambda: list(islice(self._all_hits(person, words), max(limit, 0)))
            )

    async def nearest(self, *asked: object) -> None:
        """`None`: this storage can't search by vectors."""

    async def faults(self) -> StorageFaults:
        rows = await self._all()
        return await run_uncancelled(lambda: self._faults(rows))

    async def close(self) -> None:
        """Write the rows to disk for the next start."""
        await run_uncancelled(self._keep_index)

    def put(self, chat_id: ChatId, stored: Stored) -> None:
        """Update a chat's row from its stored version, so that its file need not be read."""
        row = row_of(chat_id, stored.version, stored.signature)
        self._known[chat_id] = stored.signature, row

    async def _all(self) -> list[ChatRow]:
        async with self._lock:
            return await run_uncancelled(self._rows)

    def _faults(self, rows: Sequence[ChatRow]) -> StorageFaults:
        unreadable: list[tuple[ChatId, str]] = []
        for row in rows:
            try:
                os.close(open_file(self._folder / f"{row.id}.json", os.O_RDONLY))
            except OSError as error:
                unreadable.append((row.id, str(error)))
        set_aside = [name for name in names_inside(self._folder) if ".damaged" in name]
        return StorageFaults(unreadable, set_aside)

    def _rows(self) -> list[ChatRow]:
        return in_order(self._current())

    def _current(self) -> list[tuple[Signature, ChatRow]]:
        """The rows of the files in their current states."""
        if not self._has_index:
            self._has_index = True
            self._known = {**_read_index(self._folder), **self._known}
        present = dict(_chats_in(self._folder))
        for chat_id in self._known.keys() - present.keys():
            self._known.pop(chat_id, None)
        rows = [
            known
            for chat_id, signature in present.items()
            if (known := self._known_row(chat_id, signature)) is not None
        ]
        self._keep_index()
        return rows

    def _revisions(self, person: PersonId, beside: Sequence[str]) -> dict[ChatId, str]:
        states = {row.id: [state] for state, row in self._current() if row.may_use(person)}
        if not states or not beside:
            return {chat_id: _as_text(found) for chat_id, found in states.items()}
        with opened(self._folder) as folder:
            present = set(folder.names())
            for chat_id, found in states.items():
                for name in beside:
                    file = sidecar_name(chat_id, f"{name}.json")
                    with contextlib.suppress(OSError):  # a folder or a link is no document
                        if file in present and (state := signature_in(folder, file)):
                            found.append(state)
        return {chat_id: _as_text(found) for chat_id, found in states.items()}

    def _keep_index(self) -> None:
        if self._bytes_read > _WORTH_AN_INDEX:
            self._bytes_read = 0
            _write_index(self._folder, dict(self._known))

    def _known_row(self, chat_id: ChatId, signature: Signature) -> tuple[Signature, ChatRow] | None:
        row = self._known.get(chat_id)
        if row is None or row[0] != signature:
            row = self._read(chat_id, signature)
            if row is not None:
                self._known[chat_id] = row
        return row

    def _read(self, chat_id: ChatId, signature: Signature) -> tuple[Signature, ChatRow] | None:
        try:
            found = read_file(self._folder / f"{chat_id}.json")
        except StoreFailed:
            return signature, damaged_row(chat_id, signature)
        if found is None:
            return None
        signature, content = found
        self._bytes_read += len(content)
        try:
            return signature, row_of(chat_id, read_version(content), signature)
        except NotAChat:
            return signature, damaged_row(chat_id, signature)

    def _all_hits(self, person: PersonId, words: tuple[str, ...]) -> Iterator[ChatHit]:
        for row in self._rows():
            if row.may_use(person):
                yield from islice(self._hits(row.id, words), HITS_PER_CHAT)

    def _hits(self, chat_id: ChatId, words: tuple[str, ...]) -> Iterator[ChatHit]:
        with contextlib.suppress(StoreFailed, NotAChat):  # the list of chats shows the damage
            found = read_file(self._folder / f"{chat_id}.json")
            if found is not None and may_contain(found[1], words):
                yield from hits_in(chat_id, read_version(found[1]), words)


def _read_index(folder: Place) -> dict[ChatId, tuple[Signature, ChatRow]]:
    """The rows on disk; none when the file is missing or damaged."""
    index = read_object(folder / INDEX_NAME)
    with contextlib.suppress(ValueError, TypeError):
        match index:
            case {"version": version, "chats": dict(chats)} if version == _INDEX_VERSION:
                return dict(_indexed(name, row) for name, row in chats.items())
    return {}


def _write_index(folder: Place, rows: Mapping[ChatId, tuple[Signature, ChatRow]]) -> None:
    """Write the rows to disk for the next start; does nothing if the disk refuses."""
    chats = {chat_id: [*signature, *astuple(row)[1:]] for chat_id, (signature, row) in rows.items()}
    with contextlib.suppress(StoreFailed):
        write_object(folder / INDEX_NAME, {"version": _INDEX_VERSION, "chats": chats})


def _indexed(name: str, row: Any) -> tuple[ChatId, tuple[Signature, ChatRow]]:
    mtime_ns, size, inode, title, message_count, updated_at, preview, client, *rest = row
    topics, person, shared, folder, pinned, archived = rest
    chat_id = chat_id_of(f"{name}.json")
    texts = (title, updated_at, preview, client, person, folder, *topics)
    numbers = (mtime_ns, size, inode, message_count)
    if (
        chat_id is None
        or not all(isinstance(text, str) for text in texts)
        or not all(isinstance(number, int) for number in numbers)
    ):
        raise ValueError(name)
    kept = ChatRow(
        id=chat_id,
        title=title,
        message_count=message_count,
        updated_at=updated_at,
        preview=preview,
        client=client,
        topics=tuple(topics),
        person=PersonId(person),
        shared=shared is True,
        folder=folder,
        pinned=pinned is True,
        archived=archived is True,
    )
    return chat_id, (Signature(mtime_ns, size, inode), kept)


def _as_text(states: Sequence[Signature]) -> str:
    return " ".join(":".join(map(str, state)) for state in states)


def signatures_in(folder: Place) -> dict[ChatId, Signature]:
    """The state of each chat's file; none when the folder is missing or can't be read."""
    with contextlib.suppress(StoreFailed):
        return dict(_chats_in(folder))
    return {}


def _chats_in(place: Place) -> Iterator[tuple[ChatId, Signature]]:
    try:
        with opened(place) as folder:
            yield from _signatures(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreFailed(
            f"The chats in {place} can't be listed: {error.strerror or error}. "
            "Check who may read the folder."
        ) from error


def _signatures(folder: Folder) -> Iterator[tuple[ChatId, Signature]]:
    for name in folder.names():
        chat_id = chat_id_of(name)
        if chat_id is None:
            continue
        with contextlib.suppress(OSError):  # a folder or a link of that name is not a chat
            signature = signature_in(folder, name)
            if signature is not None:
                yield chat_id, signature
