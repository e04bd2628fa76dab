"""A host for tests of pages: chats in memory, and a plugin whose answers are fixed."""

from copy import deepcopy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from smart_context.chat.messages import ChatId, messages_of
from smart_context.host.access import OwnerOnly
from smart_context.host.commands.registry import CommandRegistry
from smart_context.host.reading import ReadAccess
from smart_context.topics.stored import public_topics


@dataclass
class Row:
    id: ChatId
    title: str
    message_count: int = 0
    updated_at: str = ""
    preview: str = ""
    client: str = ""
    topics: tuple[str, ...] = ()
    folder: str = ""
    pinned: bool = False
    archived: bool = False


@dataclass
class Hit:
    chat_id: str
    title: str
    message_id: str
    snippet: str


class MemoryStore:
    """Chats by id, newest first."""

    def __init__(self, chats: dict[str, dict[str, Any]]) -> None:
        self.chats = chats
        self.failure: Exception | None = None
        self.listing = self

    async def load(self, chat_id, *, reader=""):
        if self.failure:
            raise self.failure
        return deepcopy(self.chats.get(chat_id, {"messages": []}))

    async def snapshot(self, chat_id):
        document = await self.load(chat_id)
        return messages_of(document), {k: v for k, v in document.items() if k != "messages"}

    async def rows(self, person):
        return [
            Row(id=ChatId(key), title=str(chat.get("title", key)))
            for key, chat in self.chats.items()
        ]

    async def search(self, person, query, limit=50):
        return [
            Hit(key, str(chat.get("title", key)), message["id"], str(message["content"])[:80])
            for key, chat in self.chats.items()
            for message in chat["messages"]
            if query.lower() in str(message["content"]).lower()
        ][:limit]


class FakeHost:
    """What pages need of a host; with the plugin, no filter is set in any chat."""

    def __init__(self, chats: dict[str, dict[str, Any]] | None = None, *, plugin: bool = True):
        self.store = MemoryStore(chats or {})
        storage = SimpleNamespace(
            chats=self.store, blobs=None, vault_documents=None, documents=None
        )
        storage.for_person = lambda _person: storage
        self.access = OwnerOnly()
        self.turns = SimpleNamespace(is_answered=lambda _chat_id: False)
        self.reading = ReadAccess(storage, self.access)
        self.commands = CommandRegistry(self.access)
        self.status = {"vault": "Test vault", "chat_is_embedded": False, "plugins": []}
        self.commands.register("system.status", self.get_status)
        if plugin:
            self.commands.register("smart_context.get_topics", self.get_topics)

    async def get_status(self, chat_id: str | None = None) -> dict[str, Any]:
        return self.status

    async def get_topics(self, chat_id: str) -> dict[str, Any]:
        chat = self.store.chats.get(chat_id, {"messages": []})
        return {
            "topics": public_topics(chat.get("topics")),
            "active_topics": [],
            "message_ids": [message["id"] for message in chat["messages"]],
            "status": "All messages in context",
            "short_status": "All",
            "embedding_search": True,
        }
