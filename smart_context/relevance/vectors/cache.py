"""The vectors of a chat's messages: embedded once, stored next to the chat, cached in memory.

The vectors of a small chat are all replaced for each addition. Those of a larger one are
appended to, so that adding a message costs the same at any length; `fold` merges them when
the chat is idle.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from smart_context.base.errors import ModelFailed, StoreFailed
from smart_context.base.text.languages import with_language
from smart_context.base.threads import MANY_MESSAGES, beside, run_uncancelled
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.llm.models import Embedder, Matrix
from smart_context.llm.multilingual.files import MULTILINGUAL
from smart_context.relevance.vectors.cosines import unit
from smart_context.relevance.vectors.warm import WarmChat
from smart_context.storage.ports import Vectors, no_vectors

Progress = Callable[[int, int], None]
"""Called with the number of missing messages embedded so far, and of all."""

BATCH = 64
SMALL = 256
"""Up to this number of vectors, an addition replaces all; beyond, new ones are appended."""

_WARM_CHATS = 8
_WARM_QUERIES = 2_048
_LONGEST_TEXT = 8_000
_MATRIX = 2

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    chat: WarmChat | None = None


class EmbeddingCache:
    """Vectors of messages and of queries by one embedder, each text embedded once.

    Safe for concurrent calls within one event loop: two calls for one chat wait for each other
    and never embed the same message twice. Disk trouble costs time, never an answer.
    """

    def __init__(
        self,
        stored: Vectors,
        embedder: Embedder,
        *,
        warm_chats: int = _WARM_CHATS,
    ) -> None:
        self._stored = stored
        self._embedder = embedder
        self._warm_chats = warm_chats
        self._entries: OrderedDict[ChatId, _Entry] = OrderedDict()
        self._queries: OrderedDict[str, Matrix] = OrderedDict()
        self._query_lock = asyncio.Lock()
        self._width = 0

    @property
    def model(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    async def vectors(
        self,
        chat_id: ChatId,
        messages: Sequence[Message],
        *,
        more_follow: bool = False,
        on_progress: Progress | None = None,
    ) -> Matrix:
        """Shape (n, d), read-only: one unit row per message, a zero row for an empty one.

        Only missing vectors are embedded, in batches that are stored one by one: a cancelled call
        loses no finished batch.

        Args:
            messages: All n messages of the chat. Vectors of others are dropped when the file is
                next written.
            more_follow: True if `messages` is only the start of the chat; nothing is dropped. If
                all of them have vectors, the call doesn't wait for other calls.
            on_progress: Called after each batch.

        Raises:
            ModelFailed: If the embedder fails.
        """
        entry = self._entry(chat_id)
        asked = tuple(messages)
        if self._fits(entry.chat) and (rows := _ready(entry.chat, asked, more_follow)) is not None:
            return rows
        async with entry.lock:
            if entry.chat is None:
                entry.chat = await asyncio.to_thread(self._read, chat_id)
            if not self._fits(entry.chat):
                _log.info("the embedding model's dimension changed; vectors are rebuilt")
                entry.chat = WarmChat(entry.chat.kept, no_vectors())
            if (rows := _ready(entry.chat, asked, more_follow)) is not None:
                return rows
            await self._place(entry.chat, asked, more_follow, on_progress)
            return await beside(entry.chat.matrix, is_long=len(asked) > MANY_MESSAGES)

    async def kept(self, chat_id: ChatId, keys: Sequence[str]) -> Matrix:
        """Shape (n, d): unit rows by the keys of messages, zero where no vector is kept.

        Embeds nothing, and waits for no embedding.
        """
        entry = self._entries.get(chat_id)
        if entry is not None and entry.chat is not None:
            return await asyncio.to_thread(entry.chat.rows, keys)
        return await asyncio.to_thread(lambda: self._read(chat_id).rows(keys))

    async def queries(
        self, texts: Sequence[str], *, language: str = "", said: Collection[str] = ()
    ) -> Matrix:
        """Shape (len(texts), d): unit rows of labels and other queries; cached in memory only.

        Args:
            language: The main language of the chat, which is used for short labels if the model
                distinguishes languages.
            said: Texts that occur in the chat. They are in its language, even if that is English
                and they don't look like it: `asyncio`.

        Raises:
            ModelFailed: If the embedder fails.
        """
        if language and self.model.startswith(MULTILINGUAL):
            is_certain = language != "en"
            texts = [
                with_language(text, language)
                if text.strip() and (is_certain or text in said)
                else text
                for text in texts
            ]
        async with self._query_lock:
            wanted = [text for text in dict.fromkeys(texts) if text.strip()]
            for _ in range(2):  # again if the dimension changed, but not the model's name
                new = [text for text in wanted if text not in self._queries]
                if not new:
                    break
                for text, vector in zip(new, await self._embed(new), strict=True):
                    self._queries[text] = vector
            rows = [self._queries.get(text) for text in texts]
            for text in texts:
                if text in self._queries:
                    self._queries.move_to_end(text)
            while len(self._queries) > _WARM_QUERIES:
                self._queries.popitem(last=False)
        width = next((len(row) for row in rows if row is not None), 0)
        nothing = np.zeros(width, dtype=np.float32)
        return np.array(
            [nothing if row is None else row for row in rows], dtype=np.float32
        ).reshape(len(texts), width)

    async def fold(self, chat_id: ChatId | None = None) -> None:
        """Merge appended vectors, for one chat or for all in memory."""
        chosen = list(self._entries) if chat_id is None else [chat_id]
        for each in chosen:
            entry = self._entries.get(each)
            if entry is None:
                continue
            async with entry.lock:
                if entry.chat is not None and entry.chat.kept.has_additions:
                    await _store(entry.chat.write)

    async def copy(
        self, source: ChatId, target: ChatId, ids: Mapping[MessageId, MessageId]
    ) -> None:
        """Give a new chat the vectors of messages that were copied into it.

        Args:
            ids: The copied messages, each with its id there.
        """
        entry = self._entry(source)
        async with entry.lock:
            if entry.chat is None:
                entry.chat = await asyncio.to_thread(self._read, source)
            keys, vectors = await asyncio.to_thread(entry.chat.of, ids)
        if keys:
            kept = self._stored.of(target, self._embedder.name)
            await _store(partial(kept.replace, keys, vectors))

    async def forget(self, chat_id: ChatId) -> None:
        """Drop a chat from memory, as when it is moved to the trash; its file stays."""
        self._entries.pop(chat_id, None)

    async def close(self) -> None:
        """Merge all appended vectors."""
        await self.fold()

    def _entry(self, chat_id: ChatId) -> _Entry:
        entry = self._entries.setdefault(chat_id, _Entry())
        self._entries.move_to_end(chat_id)
        for other in list(self._entries)[: -self._warm_chats]:
            if not self._entries[other].lock.locked():
                del self._entries[other]
        return entry

    def _read(self, chat_id: ChatId) -> WarmChat:
        kept = self._stored.of(chat_id, self._embedder.name)
        keys, vectors = kept.read()
        return WarmChat(kept, (keys, unit(vectors)))

    async def _place(
        self,
        chat: WarmChat,
        messages: tuple[Message, ...],
        more_follow: bool,
        on_progress: Progress | None,
    ) -> None:
        missing = await run_uncancelled(partial(chat.place, messages))
        await self._embed_missing(chat, missing, on_progress)
        if chat.size <= SMALL and chat.has_leavers and not more_follow:
            await _store(chat.write)

    async def _embed_missing(
        self, chat: WarmChat, missing: Sequence[tuple[str, str]], on_progress: Progress | None
    ) -> None:
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            keys = [key for key, _ in batch]
            vectors = await self._embed([text for _, text in batch])
            if not await run_uncancelled(partial(chat.add, keys, vectors)):
                _log.info("the embedding model's dimension changed; vectors are rebuilt")
                await self._embed_missing(chat, chat.missing(), on_progress)
                return
            is_last = start + BATCH >= len(missing)
            if is_last and chat.size <= SMALL:
                await _store(chat.write)
            else:
                await _store(partial(chat.kept.append, keys, vectors))
            if on_progress is not None:
                on_progress(min(start + BATCH, len(missing)), len(missing))

    async def _embed(self, texts: Sequence[str]) -> Matrix:
        vectors = np.asarray(await self._embedder.embed([text[:_LONGEST_TEXT] for text in texts]))
        shape = vectors.shape
        if len(shape) != _MATRIX or shape[0] != len(texts) or not shape[1]:
            raise ModelFailed(
                f"{self._embedder.name}: expected {len(texts)} vectors of equal length, found an "
                f"array of shape {shape}. Check that it is an embedding model."
            )
        if self._width not in {0, shape[1]}:
            self._queries.clear()
        self._width = shape[1]
        return unit(vectors)

    def _fits(self, chat: WarmChat | None) -> bool:
        """True if a chat's vectors have the model's current dimension."""
        return chat is None or not (chat.width and self._width) or chat.width == self._width


async def _store(write: Callable[[], None]) -> None:
    """Write in a thread; a failing disk is only logged."""
    try:
        await asyncio.to_thread(write)
    except (StoreFailed, OSError) as failure:
        _log.warning("embeddings are not stored: %s", failure)


def _ready(
    chat: WarmChat | None, messages: tuple[Message, ...], more_follow: bool
) -> Matrix | None:
    if chat is None or not (more_follow or chat.is_all(messages)):
        return None
    return chat.ready(messages)
