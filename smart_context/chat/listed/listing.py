"""The list of chats, and searching them: reads only files that changed. Blocks."""

import contextlib
from collections.abc import Iterator
from itertools import islice

from smart_context.chat.documents.document import Unreadable, read_version
from smart_context.chat.files.chat_files import Stored
from smart_context.chat.ids import chat_id_of
from smart_context.chat.listed.rows import (
    ChatSummary,
    damaged_summary,
    read_index,
    summary_of,
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
from smart_context.disk.files import Signature, read_file, signature_in
from smart_context.disk.folders import Folder, opened
from smart_context.disk.places import Place
from smart_context.errors import StoreFailed

_WORTH_AN_INDEX = 1024 * 1024


class Listing:
    """Summaries of the chats in a folder.

    Once more than 1 MiB had to be read to make them, they are kept in `.index.json`.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._known: dict[ChatId, tuple[Signature, ChatSummary]] = {}
        self._has_index = False
        self._bytes_read = 0

    def summaries(self) -> list[ChatSummary]:
        """All chats, newest first.

        Raises:
            StoreFailed: The folder can't be read.
        """
        if not self._has_index:
            self._has_index = True
            self._known = {**read_index(self._folder), **self._known}
        present = dict(_chats_in(self._folder))
        for chat_id in self._known.keys() - present.keys():
            self.drop(chat_id)
        rows = [
            row
            for chat_id, signature in present.items()
            if (row := self._row(chat_id, signature)) is not None
        ]
        self.keep_index()
        rows.sort(key=lambda row: (row[1].updated_at, row[0].mtime_ns, row[1].id), reverse=True)
        return [summary for _, summary in rows]

    def search(self, query: str, limit: int) -> list[ChatHit]:
        """Where all words of the query stand: newest chats first, at most 20 places in each.

        Raises:
            StoreFailed: The folder can't be read.
        """
        words = query_words(query)
        if not words:
            return []
        hits = (
            hit
            for summary in self.summaries()
            for hit in islice(self._hits(summary.id, words), HITS_PER_CHAT)
        )
        return list(islice(hits, max(limit, 0)))

    def put(self, chat_id: ChatId, stored: Stored) -> None:
        """Take a summary from what was just stored, so that the file need not be read."""
        summary = summary_of(chat_id, stored.version, stored.signature)
        self._known[chat_id] = stored.signature, summary

    def drop(self, chat_id: ChatId) -> None:
        """Forget a chat."""
        self._known.pop(chat_id, None)

    def keep_index(self) -> None:
        """Write the summaries to disk if making them again would take a while."""
        if self._bytes_read > _WORTH_AN_INDEX:
            self._bytes_read = 0
            write_index(self._folder, dict(self._known))

    def _row(self, chat_id: ChatId, signature: Signature) -> tuple[Signature, ChatSummary] | None:
        row = self._known.get(chat_id)
        if row is None or row[0] != signature:
            row = self._read(chat_id, signature)
            if row is not None:
                self._known[chat_id] = row
        return row

    def _read(self, chat_id: ChatId, signature: Signature) -> tuple[Signature, ChatSummary] | None:
        try:
            found = read_file(self._folder / f"{chat_id}.json")
        except StoreFailed:
            return signature, damaged_summary(chat_id, signature)
        if found is None:
            return None
        signature, content = found
        self._bytes_read += len(content)
        try:
            return signature, summary_of(chat_id, read_version(content), signature)
        except Unreadable:
            return signature, damaged_summary(chat_id, signature)

    def _hits(self, chat_id: ChatId, words: tuple[str, ...]) -> Iterator[ChatHit]:
        with contextlib.suppress(StoreFailed, Unreadable):  # the list of chats shows the damage
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
        with contextlib.suppress(OSError):  # a folder or a link by that name is no chat
            signature = signature_in(folder, name)
            if signature is not None:
                yield chat_id, signature
