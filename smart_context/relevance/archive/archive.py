"""Finds messages in all chats of a person; reads only changed chats again."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from smart_context.base.caches import Caches
from smart_context.base.errors import SmartContextError
from smart_context.base.text.languages import main_language
from smart_context.base.values import PersonId
from smart_context.chat.messages import PRIVATE, ChatId, without_notices
from smart_context.relevance.archive.card import ChatCard, card_of
from smart_context.relevance.archive.ranking import Ranking, SearchedChats, ranked
from smart_context.relevance.judge.calibrate import Scale, estimated_scale, known_scale
from smart_context.relevance.kept_rows import KeptRows
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.ports import Chats, Floats, Vectors

CACHE_FILE: Final = "chats.sqlite3"
"""The name of the cards' database."""

EMBEDDED_AT_ONCE = 256
"""The most messages that one search embeds, from the chats with the best messages."""

MOST_NEAR = 200
"""The number of nearest messages that a database returns; only their chats are searched."""

MOST_REMEMBERED = 300_000
"""The most messages whose cards stay in memory, at about a kilobyte each."""

_AT_ONCE = 64

_log = logging.getLogger(__name__)


class _ArchivedChat(NamedTuple):
    revision: str
    card: ChatCard


class ChatArchive:
    """Searches the chats of a vault together. Disk trouble costs time, never an answer.

    Args:
        embeddings: Embeds queries, and messages without a vector.
        scale: The calibrated scale of the embedding model; `None` picks one by its name.
    """

    def __init__(
        self,
        chats: Chats,
        vectors: Vectors,
        caches: Caches,
        embeddings: EmbeddingCache,
        *,
        scale: Scale | None = None,
    ) -> None:
        self._chats = chats
        self._vectors = vectors
        self._embeddings = embeddings
        self._scale = scale
        self._kept = _KeptCards(caches, embeddings.model)
        self._known: dict[ChatId, _ArchivedChat] = {}
        self._last: tuple[tuple[_ArchivedChat, ...], SearchedChats] = ((), SearchedChats((), ()))
        self._lock = asyncio.Lock()

    async def find(self, text: str, person: PersonId, *, without: ChatId) -> Ranking:
        """The messages of a person's chats that are about a text, best first.

        Messages of the best chats get vectors if they have none yet.

        Raises:
            StoreFailed: If the chats can't be listed.
            ModelFailed: If the embedder fails.
        """
        found = await self._ranked(text, person, without)
        if await self._embed(found.lacking):
            found = await self._ranked(text, person, without)
        return found

    async def forget(self, chat_id: ChatId) -> None:
        """Forget a deleted chat."""
        self._known.pop(chat_id, None)
        await asyncio.to_thread(self._kept.forget, chat_id)

    async def _ranked(self, text: str, person: PersonId, without: ChatId) -> Ranking:
        (query,) = await self._embeddings.queries([text], language=main_language([text]))
        archive = await self._of(await self._looked_at(person, query, without))

        def rank() -> Ranking:
            scale = self._scale or known_scale(self._embeddings.model)
            scale = scale or estimated_scale(archive.sample(query))
            return ranked(archive, text, query, scale=scale, without=(without,))

        return await asyncio.to_thread(rank)

    async def _looked_at(
        self, person: PersonId, query: Floats, without: ChatId
    ) -> Mapping[ChatId, str]:
        """The revisions of a person's chats; with pgvector, only of the chats of near messages."""
        listing, model = self._chats.listing, self._embeddings.model
        near = await listing.nearest(person, model, query, MOST_NEAR, without)
        if near is None:
            return await listing.revisions(person)
        return {each.chat_id: each.revision for each in near}

    async def _of(self, revisions: Mapping[ChatId, str]) -> SearchedChats:
        """These chats with their current content."""
        async with self._lock:
            if unknown := revisions.keys() - self._known.keys():
                self._known.update(await asyncio.to_thread(self._kept.read, unknown))
            await self._refresh(revisions)
            known = tuple(self._known[chat] for chat in revisions if chat in self._known)
            if known != self._last[0]:
                ids = [chat for chat in revisions if chat in self._known]
                self._last = known, SearchedChats(ids, [each.card for each in known])
                self._forget_others(revisions)
            return self._last[1]

    def _forget_others(self, needed: Container[ChatId]) -> None:
        """Limit the memory for the cards of many people; the oldest are dropped first."""
        left = MOST_REMEMBERED - sum(len(known.card.keys) for known in self._known.values())
        for chat_id in [*self._known]:
            if left < 0 and chat_id not in needed:
                left += len(self._known.pop(chat_id).card.keys)

    async def _refresh(self, revisions: Mapping[ChatId, str]) -> None:
        """Read the chats that have changed, and look for missing vectors."""
        waiting: list[ChatId] = []
        for chat_id, revision in revisions.items():
            known = self._known.get(chat_id)
            if known is None or known.revision != revision:
                card = await self._read(chat_id)
                if card is None:
                    self._known.pop(chat_id, None)
                    continue
                self._known[chat_id] = _ArchivedChat(revision, card)
            if self._known[chat_id].card.lacking:
                waiting.append(chat_id)
            if len(waiting) >= _AT_ONCE:
                await self._add_vectors(waiting)
                waiting = []
        await self._add_vectors(waiting)

    async def _read(self, chat_id: ChatId) -> ChatCard | None:
        """The card of a chat, without vectors; `None` if the chat can't be read."""
        try:
            messages, others = await self._chats.snapshot(chat_id, PRIVATE)
        except SmartContextError as error:
            _log.warning("the chat %s can't be searched: %s", chat_id, error)
            return None
        is_private, known = others.get(PRIVATE) is True, self._known.get(chat_id)
        before = known.card if known else None
        return await asyncio.to_thread(card_of, messages, is_private=is_private, before=before)

    async def _add_vectors(self, chats: Sequence[ChatId]) -> None:
        """Add stored vectors to cards, and store changed cards."""

        def add() -> list[tuple[ChatId, _ArchivedChat]]:
            changed: list[tuple[ChatId, _ArchivedChat]] = []
            for chat_id in chats:
                known = self._known[chat_id]
                keys, vectors = self._vectors.of(chat_id, self._embeddings.model).read()
                card = known.card.with_vectors(keys, vectors) if keys else known.card
                if card.lacking < known.card.lacking or not self._kept.has(chat_id, known):
                    changed.append((chat_id, known._replace(card=card)))
            self._kept.write(changed)
            return changed

        self._known.update(await asyncio.to_thread(add) if chats else ())

    async def _embed(self, chats: Iterable[ChatId]) -> bool:
        """Embed messages of these chats, up to `EMBEDDED_AT_ONCE`; True if there were any."""
        left, has_embedded = EMBEDDED_AT_ONCE, False
        for chat_id in chats:
            lacking = self._known[chat_id].card.lacking if chat_id in self._known else 0
            if 0 < lacking <= left:
                messages = without_notices(await self._chats.messages(chat_id))
                finished = [message for message in messages if not message.generating]
                await self._embeddings.vectors(chat_id, finished)
                left -= lacking
                has_embedded = True
        return has_embedded


class _KeptCards:
    """The cards on disk. Blocks; safe for several threads.

    Args:
        model: The embedding model; cards of another one are not read.
    """

    def __init__(self, caches: Caches, model: str) -> None:
        self._rows = KeptRows(
            caches=caches,
            name=CACHE_FILE,
            table="cards",
            columns="""(
    chat TEXT PRIMARY KEY, revision TEXT, model TEXT, card BLOB)""",
            max_bytes=4 << 30,
        )
        self._model = model
        self._revisions: dict[ChatId, str] = {}

    def has(self, chat_id: ChatId, known: _ArchivedChat) -> bool:
        """True if the card of this revision of the chat was read or written."""
        return self._revisions.get(chat_id) == known.revision

    def read(self, chats: Iterable[ChatId]) -> dict[ChatId, _ArchivedChat]:
        """The stored cards of these chats; none if the file is missing or damaged."""
        found: dict[ChatId, _ArchivedChat] = {}
        for chat_id, revision, content in self._rows.read(
            "SELECT chat, revision, card FROM cards"
            " WHERE model = ? AND chat IN (SELECT value FROM json_each(?))",
            (self._model, json.dumps([*chats])),
        ):
            with contextlib.suppress(ValueError):
                found[chat_id] = _ArchivedChat(revision, ChatCard.unpacked(content))
                self._revisions[chat_id] = revision
        return found

    def write(self, cards: Sequence[tuple[ChatId, _ArchivedChat]]) -> None:
        """Store cards; does nothing if the disk refuses."""
        rows = [
            (chat_id, known.revision, self._model, known.card.packed()) for chat_id, known in cards
        ]
        if rows and self._rows.write(("INSERT OR REPLACE INTO cards VALUES (?, ?, ?, ?)", rows)):
            self._revisions.update((chat_id, known.revision) for chat_id, known in cards)

    def forget(self, chat_id: ChatId) -> None:
        """Remove a card."""
        self._revisions.pop(chat_id, None)
        if self._rows.are_there:
            self._rows.write(("DELETE FROM cards WHERE chat = ?", [(chat_id,)]))
