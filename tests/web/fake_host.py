"""A host for tests of pages: chats in memory, and a Smart Context whose filter is simple words."""

import asyncio
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from smart_context.chat.messages import ChatId
from smart_context.errors import CommandFailed
from smart_context.host.commands.registry import Caller, CommandRegistry


@dataclass
class Summary:
    id: ChatId
    title: str
    message_count: int = 0
    updated_at: str = ""
    preview: str = ""


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
        self.trash: dict[str, dict[str, Any]] = {}
        self.failure: Exception | None = None
        self.listing = self

    async def load(self, chat_id):
        if self.failure:
            raise self.failure
        return deepcopy(self.chats.get(chat_id, {"messages": []}))

    async def rows(self):
        return [
            Summary(id=ChatId(key), title=str(chat.get("title", key)))
            for key, chat in self.chats.items()
        ]

    async def search(self, query, limit=50):
        return [
            Hit(key, str(chat.get("title", key)), message["id"], str(message["content"])[:80])
            for key, chat in self.chats.items()
            for message in chat["messages"]
            if query.lower() in str(message["content"]).lower()
        ][:limit]


@dataclass
class FilterState:
    active: list[str] = field(default_factory=list)
    is_on: bool = True
    pinned: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


class FakeHost:
    """What pages and the socket need of a host."""

    def __init__(self, chats: dict[str, dict[str, Any]] | None = None, *, plugin: bool = True):
        self.store = MemoryStore(chats or {})
        self.commands = CommandRegistry()
        self.listeners: list[Any] = []
        self.filters: dict[str, FilterState] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.gate: asyncio.Event | None = None
        self.answer = "A short answer."
        self.pace_s = 0.0
        self.status = {"vault": "Test vault", "chat_is_embedded": False, "plugins": []}
        names = ["chat.open", "chat.send", "chat.stop", "memory.rename_chat"]
        names += ["memory.delete_chat", "memory.restore_chat", "system.status"]
        if plugin:
            verbs = ["get_topics", "set_filter", "set_similarity_mode", "refresh_topics"]
            names += [f"smart_context.{verb}" for verb in [*verbs, "pin", "hide", "release"]]
        for name in names:
            self.commands.register(name, getattr(self, "do_" + name.rpartition(".")[2]))

    async def start(self): ...

    async def stop(self):
        for task in self.tasks.values():
            task.cancel()

    async def client_connected(self, client): ...

    async def client_disconnected(self, client): ...

    def on_event(self, listener):
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def emit(self, event, payload):
        for listener in self.listeners:
            listener(event, payload)

    def view(self, chat_id):
        chat = self.store.chats.get(chat_id, {"messages": []})
        state = self.filters.setdefault(chat_id, FilterState())
        ids = [m["id"] for m in chat["messages"] if not m.get("generating")]
        topics = chat.get("topics", [])
        sticky = {i for t in topics if t.get("sticky") for i in t["message_ids"]}
        kept_by = {
            label: [m["id"] for m in chat["messages"] if label.lower() in str(m).lower()]
            for label in state.active
        }
        picked = {i for kept in kept_by.values() for i in kept}
        fell_back = bool(state.active) and not picked
        kept = set(ids) if fell_back or not state.active else picked | sticky | set(state.pinned)
        shown = [i for i in ids if i in kept and i not in state.hidden]
        return {
            "active_topics": state.active,
            "message_ids": shown,
            "status": _status(len(shown), len(ids), state, fell_back=fell_back),
            "total_messages": len(ids),
            "fell_back": fell_back,
            "problem": "",
            "pinned": state.pinned,
            "hidden": state.hidden,
            "sticky": sorted(sticky),
            "kept_by": kept_by,
            "embedding_search": state.is_on,
        }

    def tell(self, chat_id):
        view = self.view(chat_id)
        self.emit("smart_context.filter_changed", {"chat_id": chat_id, **view})
        return view

    async def do_get_topics(self, chat_id: str) -> dict[str, Any]:
        topics = self.store.chats.get(chat_id, {}).get("topics", [])
        return {"topics": topics, **self.view(chat_id)}

    async def do_set_filter(self, chat_id: str, topics: list[str]) -> dict[str, Any]:
        self.filters.setdefault(chat_id, FilterState()).active = topics
        return self.tell(chat_id)

    async def do_set_similarity_mode(self, chat_id: str, enabled: bool) -> dict[str, Any]:
        self.filters[chat_id] = FilterState(is_on=enabled)
        return self.tell(chat_id)

    async def do_refresh_topics(self, chat_id: str) -> dict[str, Any]:
        payload = {"chat_id": chat_id, "state": "failed", "reason": "the model answered nonsense"}
        self.emit("smart_context.extraction", payload)
        return {}

    async def do_pin(self, chat_id: str, message_ids: list[str]) -> dict[str, Any]:
        self.filters[chat_id].pinned = message_ids
        return self.tell(chat_id)

    async def do_hide(self, chat_id: str, message_ids: list[str]) -> dict[str, Any]:
        self.filters[chat_id].hidden = message_ids
        return self.tell(chat_id)

    async def do_release(self, chat_id: str, message_ids: list[str]) -> dict[str, Any]:
        state = self.filters[chat_id]
        state.pinned = [i for i in state.pinned if i not in message_ids]
        state.hidden = [i for i in state.hidden if i not in message_ids]
        return self.tell(chat_id)

    async def do_status(self) -> dict[str, Any]:
        return self.status

    async def do_open(self, chat_id: str, caller: Caller) -> dict[str, Any]:
        answering = next(
            (m for m in self.store.chats.get(chat_id, {}).get("messages", []) if "now" in m), None
        )
        under_way = answering and {"message_id": answering["id"], "text": answering["now"]}
        return {"chat_id": chat_id, "answering": under_way}

    async def do_send(self, chat_id: str, message: str, stream: bool = True) -> dict[str, Any]:
        chat = self.store.chats.setdefault(chat_id, {"title": message[:60], "messages": []})
        number = len(chat["messages"])
        answer = {"id": f"a{number}", "role": "assistant", "content": "", "generating": True}
        chat["messages"] += [{"id": f"q{number}", "role": "user", "content": message}, answer]
        self.emit("memory.chat_changed", {"chat_id": chat_id})
        self.emit("chat.started", {"chat_id": chat_id, "message_id": answer["id"]})
        task = self.tasks[chat_id] = asyncio.create_task(self._write(chat_id, answer))
        await asyncio.wait([task])
        del answer["generating"]
        answer["content"] = answer.pop("now", "")
        self.emit("memory.chat_changed", {"chat_id": chat_id})
        ids = [f"q{number}", answer["id"]]
        if "fail" in message:
            answer["error"] = "The endpoint answered 503. Is the server running?"
            self.emit("chat.failed", {"chat_id": chat_id, "error": answer["error"]})
            raise CommandFailed(answer["error"])
        self.emit("chat.finished", {"chat_id": chat_id, "message_ids": ids})
        self.tell(chat_id)
        return {"chat_id": chat_id, "message_ids": ids}

    async def _write(self, chat_id, answer):
        for offset in range(0, len(self.answer), 4):
            text = self.answer[offset : offset + 4]
            answer["now"] = answer.get("now", "") + text
            piece = {"message_id": answer["id"], "offset": offset, "text": text}
            self.emit("chat.token", {"chat_id": chat_id, **piece})
            await asyncio.sleep(self.pace_s)
            if self.gate:
                await self.gate.wait()

    async def do_stop(self, chat_id: str) -> dict[str, Any]:
        self.tasks[chat_id].cancel()
        return {"chat_id": chat_id, "stopped": True}

    async def do_rename_chat(self, chat_id: str, title: str) -> dict[str, Any]:
        self.store.chats[chat_id]["title"] = title
        self.emit("memory.chat_changed", {"chat_id": chat_id})
        return {}

    async def do_delete_chat(self, chat_id: str) -> dict[str, Any]:
        self.store.trash[chat_id] = self.store.chats.pop(chat_id)
        self.emit("memory.chat_changed", {"chat_id": chat_id})
        return {}

    async def do_restore_chat(self, chat_id: str) -> dict[str, Any]:
        self.store.chats[chat_id] = self.store.trash.pop(chat_id)
        self.emit("memory.chat_changed", {"chat_id": chat_id})
        return {}


def _status(shown, total, state, *, fell_back):
    if fell_back:
        return f"No message matches; all {total} messages in context"
    if shown == total and not state.active:
        return "All messages in context"
    return f"{shown} of {total} messages in context"
