"""The list of chats, and the search in them; reads only files that changed."""

import asyncio
import contextlib
from collections.abc import Iterator
from itertools import islice

from smart_context.base.disk.files import Signature, read_file, signature_in
from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.base.threads import to_end
from smart_context.chat.documents.document import NotAChat, read_version
from smart_context.chat.files.chat_files import Stored
from smart_context.chat.ids import chat_id_of
from smart_context.chat.listed.rows import (
    ChatRow,
    damaged_row,
    read_index,
    row_of,
    write_index,
)
from smart_context.chat.listed.search import (
    HITS_PER_CHAT,
    ChatHit,
    hits_in,
    may_contain,
    query_words,
)
from smart_context.chat.messages import ChatId

_WORTH_AN_INDEX = 1024 * 1024


class ChatListing:
    """The chats in a folder, one row each.

    Once more than 1 MiB had to be read for the rows, they are kept in `.index.json`.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._lock = asyncio.Lock()
        self._known: dict[ChatId, tuple[Signature, ChatRow]] = {}
        self._has_index = False
        self._bytes_read = 0

    async def rows(self) -> list[ChatRow]:
        """All chats, newest first.

        Raises:
            StoreFailed: The folder can't be read.
        """
        async with self._lock:
            return await to_end(self._rows)

    async def search(self, query: str, limit: int = 50) -> list[ChatHit]:
        """The messages and titles that contain all words of the query, newest chats first.

        Ignores case, width and composition of characters.

        Args:
            query: The words. An empty query finds nothing.
            limit: The maximum number of hits; at most 20 of them in one chat.

        Raises:
            StoreFailed: The folder can't be read.
        """
        words = query_words(query)
        if not words:
            return []
        async with self._lock:
            return await to_end(lambda: list(islice(self._all_hits(words), max(limit, 0))))

    async def close(self) -> None:
        """Keep the rows on disk for the next start."""
        await to_end(self._keep_index)

    def put(self, chat_id: ChatId, stored: Stored) -> None:
        """Use what was just stored, so that its file need not be read."""
        row = row_of(chat_id, stored.version, stored.signature)
        self._known[chat_id] = stored.signature, row

    def _rows(self) -> list[ChatRow]:
        if not self._has_index:
            self._has_index = True
            self._known = {**read_index(self._folder), **self._known}
        present = dict(_chats_in(self._folder))
        for chat_id in self._known.keys() - present.keys():
            self._known.pop(chat_id, None)
        rows = [
            known
            for chat_id, signature in present.items()
            if (known := self._known_row(chat_id, signature)) is not None
        ]
        self._keep_index()
        rows.sort(key=lambda row: (row[1].updated_at, row[0].mtime_ns, row[1].id), reverse=True)
        return [row for _, row in rows]

    def _keep_index(self) -> None:
        if self._bytes_read > _WORTH_AN_INDEX:
            self._bytes_read = 0
            write_index(self._folder, dict(self._known))

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

    def _all_hits(self, words: tuple[str, ...]) -> Iterator[ChatHit]:
        for row in self._rows():
            yield from islice(self._hits(row.id, words), HITS_PER_CHAT)

    def _hits(self, chat_id: ChatId, words: tuple[str, ...]) -> Iterator[ChatHit]:
        with contextlib.suppress(StoreFailed, NotAChat):  # the list of chats shows the damage
            found = read_file(self._folder / f"{chat_id}.json")
            if found is not None and may_contain(found[1], words):
                yield from hits_in(chat_id, read_version(found[1]), words)


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
