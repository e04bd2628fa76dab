"""Extracts the topics of chats in the background; see docs/filter.md."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from smart_context.base.errors import SmartContextError
from smart_context.base.text.languages import main_language
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId, Message, messages_of
from smart_context.chat.store import ChatStore
from smart_context.llm.models import Embedder, Matrix
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.topics.extraction import TopicExtractor
from smart_context.topics.identity import with_ids
from smart_context.topics.stored import (
    public_topics,
    stored_sticky_ids,
    stored_topics,
    to_stored,
)
from smart_context.topics.values import Extraction

TOPICS_UPDATED = "smart_context.topics_updated"
"""Event: a chat's topics are stored; see `topics_payload`."""

Emit = Callable[[str, JsonObject], None]
Edited = Callable[[ChatId, Extraction, Sequence[Message]], Awaitable[Extraction]]
"""Applies the user's edits to an extraction."""


class OutOfDate(Exception):
    """A newer extraction of the chat has begun, so this result must not be stored."""


class ChatEmbedder:
    """Embeds a chat's texts through its cache, so that no message is embedded twice."""

    def __init__(self, cache: EmbeddingCache, chat_id: ChatId, messages: Sequence[Message]) -> None:
        self._cache = cache
        self._chat_id = chat_id
        self._messages = messages

    @property
    def name(self) -> str:
        """The embedding model's name."""
        return self._cache.model

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d), unit rows; see `Embedder`."""
        said = {message.text for message in self._messages}
        others = [text for text in texts if text not in said]
        language = main_language([message.text for message in self._messages])
        rows = iter(await self._cache.queries(others, language=language)) if others else iter(())
        vectors = await self._cache.vectors(self._chat_id, self._messages)
        known = {message.text: row for message, row in zip(self._messages, vectors, strict=True)}
        found = [known[text] if text in known else next(rows) for text in texts]
        return np.array(found, dtype=np.float32).reshape(len(texts), -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicUpdates:
    """Extracts and stores topics: one extraction per chat at a time, the newest wins.

    Attributes:
        chats: The store of the chats.
        sidecars: Where the topics' members are kept.
        extractor: Gives the extractor for a chat's embedder.
        cache: The chats' vectors.
        emit: Sends an event to all clients.
        announce: Tells the clients what is in context now.
        edited: Applies the user's edits.
    """

    chats: ChatStore
    sidecars: Sidecars
    extractor: Callable[[Embedder], TopicExtractor]
    cache: EmbeddingCache
    emit: Emit
    announce: Callable[[ChatId], Awaitable[None]]
    edited: Edited
    _newest: dict[ChatId, object] = field(init=False, default_factory=dict)

    async def update(self, chat_id: ChatId) -> None:
        """Extract the topics of a chat, store them and tell the clients.

        Ends with exactly one `smart_context.extraction` event: `done`, `failed` or `superseded`.
        """
        token = self._newest[chat_id] = object()
        self._tell(chat_id, "running")
        try:
            await self._extract_and_store(chat_id, token)
        except asyncio.CancelledError:
            self._tell(chat_id, "superseded")
            raise
        except OutOfDate:
            self._tell(chat_id, "superseded")
        except SmartContextError as failure:
            self._tell(chat_id, "failed", str(failure))
        except Exception:
            self._tell(chat_id, "failed", "The topics could not be found; see the log.")
            raise
        else:
            self._tell(chat_id, "done")
        finally:
            if self._newest.get(chat_id) is token:
                del self._newest[chat_id]

    async def _extract_and_store(self, chat_id: ChatId, token: object) -> None:
        stored, others = await self.chats.snapshot(chat_id)
        messages = _readable(stored)
        kept = (await self.sidecars.of(chat_id)).topics
        known = (*stored_topics(others.get("topics"), kept), *kept)
        labels = dict.fromkeys(topic.label for topic in known)
        found = await self._extract(chat_id, messages, tuple(labels))
        edited = await self.edited(chat_id, found, messages)
        extraction = replace(edited, topics=with_ids(edited.topics, known))

        def store(document: JsonObject) -> None:
            if self._newest.get(chat_id) is not token:
                raise OutOfDate
            present = messages_of(document)
            document["topics"] = to_stored(
                extraction, stored_sticky_ids(document.get("topics")), present
            )

        document = await self.chats.update(chat_id, store, creates=False)
        await self.sidecars.keep_topics(chat_id, extraction.topics)
        self.emit(TOPICS_UPDATED, topics_payload(chat_id, document))
        await self.announce(chat_id)

    async def _extract(
        self, chat_id: ChatId, messages: Sequence[Message], labels: Sequence[str]
    ) -> Extraction:
        embedder = ChatEmbedder(self.cache, chat_id, messages)
        return await self.extractor(embedder).extract(messages, previous_labels=labels)

    def _tell(self, chat_id: ChatId, state: str, reason: str = "") -> None:
        payload: JsonObject = {"chat_id": chat_id, "state": state}
        if reason:
            payload["reason"] = reason
        self.emit("smart_context.extraction", payload)


def topics_payload(chat_id: ChatId, document: JsonObject) -> JsonObject:
    """The payload of `TOPICS_UPDATED`, from a chat's stored document."""
    return {
        "chat_id": chat_id,
        "topics": public_topics(document["topics"]),
        "total_messages": len(messages_of(document)),
    }


def _readable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages to find topics in: none that are unfinished, failed or only quote passages."""
    return tuple(m for m in messages if m.is_complete and not m.is_extracted)
