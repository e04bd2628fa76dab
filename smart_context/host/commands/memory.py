"""The commands `memory.*`: load, save, list, search, rename, share, delete, restore, the trash."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject
from smart_context.chat.documents.document import no_messages, set_value
from smart_context.chat.documents.lineage import ANYBODY
from smart_context.chat.listed.rows import folder_of
from smart_context.chat.listed.search import fold
from smart_context.chat.messages import ChatId, Message, MessageId, messages_of
from smart_context.host.access import FilesNamed, OwnChat, OwnChats
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.events.events import CHAT_DELETED, CHAT_SHARED, TRASH_CHANGED, Emit
from smart_context.storage.guarded.storage import SharedStorage
from smart_context.storage.ports import Chats, Storage

MAX_HITS = 200
NOBODY_ELSE = "You are the only person who uses this vault: there is nobody to share with."


@dataclass(frozen=True, slots=True)
class MemoryCommands:
    """The commands for whole chats."""

    storage: Storage
    stop: Callable[[ChatId], Awaitable[bool]]
    repair: Callable[[ChatId], Awaitable[None]]  # repairs a chat after a crash, before it is read
    settled: Callable[[], Awaitable[None]]  # waits until plugins have handled the events so far
    emit: Emit
    people: SharedStorage | None  # knows the owners of chats; `None` if there is one person

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register_all(
            "memory",
            *(self.load_chat, self.save_chat, self.find, self.list_chats, self.search),
            *(self.rename_chat, self.arrange_chats, self.share_chat),
            *(self.delete_chat, self.restore_chat),
            *(self.list_trash, self.purge_chat, self.empty_trash),
        )

    async def load_chat(self, chat_id: ChatId, caller: Caller) -> JsonObject:
        """Give a chat's document; without messages if the chat does not exist."""
        await self.repair(chat_id)
        return await self._chats(caller).load(chat_id, reader=_reader(caller))

    async def save_chat(
        self, chat_id: ChatId, data: Annotated[dict[str, Any], FilesNamed], caller: Caller
    ) -> JsonObject:
        """Store a chat's document, merged with what others changed meanwhile.

        Messages missing in the document are deleted only if this client has seen them; `kept`
        names the others.
        """
        stored = await self._chats(caller).save(chat_id, data, reader=_reader(caller))
        total, kept = await asyncio.to_thread(_kept_of, data, stored)
        result: JsonObject = {"chat_id": chat_id, "total_messages": total}
        return {**result, "kept": kept} if kept else result

    async def list_chats(self, caller: Caller) -> JsonObject:
        """List the chats, newest first."""
        rows = await self._chats(caller).listing.rows(caller.person)
        return {"chats": [row.document() for row in rows]}

    async def search(self, query: str, caller: Caller, limit: int = 50) -> JsonObject:
        """Find chats by their messages."""
        hits = await self._chats(caller).listing.search(
            caller.person, query, limit=max(1, min(limit, MAX_HITS))
        )
        return {"query": query, "results": [asdict(hit) for hit in hits]}

    async def find(self, chat_id: ChatId, query: str, caller: Caller) -> JsonObject:
        """Find the messages of a chat that hold a text, whatever its case; oldest first."""
        messages = await self._chats(caller).messages(chat_id)
        wanted = fold(" ".join(query.split()))

        def found() -> list[MessageId]:
            return [m.id for m in messages if wanted in fold(" ".join(m.text.split()))]

        return {"message_ids": await asyncio.to_thread(found) if wanted else []}

    async def rename_chat(self, chat_id: OwnChat, title: str, caller: Caller) -> JsonObject:
        """Change a chat's title."""
        return {"chat_id": chat_id, "title": await self._chats(caller).rename(chat_id, title)}

    async def arrange_chats(
        self,
        chat_ids: OwnChats,
        caller: Caller,
        folder: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> JsonObject:
        """Put chats into a folder of the list (empty: none), to its top, or away from it.

        Values that are left out stay unchanged.
        """
        given = {
            "folder": None if folder is None else folder_of(folder),
            "pinned": pinned,
            "archived": archived,
        }
        wanted = {key: value for key, value in given.items() if value is not None}

        def arrange(document: JsonObject) -> None:
            for key, value in wanted.items():
                set_value(document, key, value)

        for chat_id in chat_ids:
            await self._chats(caller).update(chat_id, arrange, since=no_messages, creates=False)
        return {"chat_ids": chat_ids, **wanted}

    async def delete_chat(self, chat_id: OwnChat, caller: Caller) -> JsonObject:
        """Move a chat to the trash; an answer that is under way is stopped first."""
        await self.stop(chat_id)
        await self._chats(caller).delete(chat_id)
        self.emit(CHAT_DELETED, {"chat_id": chat_id})
        await self.settled()
        return {"chat_id": chat_id}

    async def restore_chat(
        self, chat_id: OwnChat, caller: Caller, deletion: str = ""
    ) -> JsonObject:
        """Restore a chat from the trash: its last deletion, or the one named."""
        await self._chats(caller).restore(chat_id, deletion)
        return {"chat_id": chat_id}

    async def list_trash(self, caller: Caller) -> JsonObject:
        """List the deleted chats, newest first: at most 200, and the number of all."""
        found, total = await self._chats(caller).trash.listed(caller.person)
        return {"chats": [asdict(deleted) for deleted in found], "total": total}

    async def purge_chat(self, chat_id: OwnChat, caller: Caller, deletion: str = "") -> JsonObject:
        """Remove a deleted chat for ever: all its deletions, or the one named."""
        removed = await self._chats(caller).trash.purge(chat_id, deletion)
        self.emit(TRASH_CHANGED, {}, caller.person)
        return {"chat_id": chat_id, "removed": removed}

    async def empty_trash(self, caller: Caller, until: str = "") -> JsonObject:
        """Remove all deleted chats for ever, or those that were deleted by a time."""
        try:
            return {"removed": await self._chats(caller).trash.empty(caller.person, until)}
        finally:
            self.emit(TRASH_CHANGED, {}, caller.person)

    async def share_chat(self, chat_id: OwnChat, shared: bool, caller: Caller) -> JsonObject:
        """Let all people read a chat and write in it, or only its own person again."""
        if self.people is None:
            raise CommandFailed(NOBODY_ELSE)
        told = {"chat_id": chat_id, "shared": shared, "person": caller.person}
        if not shared:
            self.emit(CHAT_SHARED, told)  # while the people it was shared with are still told
        await self.people.owners.share(chat_id, caller.person, shared=shared)
        if shared:
            self.emit(CHAT_SHARED, told)
        return {"chat_id": chat_id, "shared": shared}

    def _chats(self, caller: Caller) -> Chats:
        return self.storage.for_person(caller.person).chats


def _reader(caller: Caller) -> str:
    """The reader whose version of a chat counts: the connection, or `ANYBODY` without one."""
    return caller.client.id if caller.client else ANYBODY


def _kept_of(data: JsonObject, stored: JsonObject) -> tuple[int, list[MessageId]]:
    """The number of stored messages, and the ids of those that the saved document lacks."""
    entries = _objects(stored)
    named = {entry["id"] for entry in _objects(data) if isinstance(entry.get("id"), str)}
    ids = [entry.get("id") for entry in entries]
    if "messages" not in data or all(isinstance(one, str) and one in named for one in ids):
        return len(entries), []
    return len(entries), _missing(data, messages_of(stored))


def _objects(document: JsonObject) -> list[JsonObject]:
    entries = document.get("messages")
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def _missing(data: JsonObject, stored: Sequence[Message]) -> list[MessageId]:
    """The stored messages that a document lacks."""
    sent = messages_of(data)
    ids = {message.id for message in sent}
    given = (entry.get("id") for entry in _objects(data))
    named = {message_id for message_id in given if isinstance(message_id, str)}
    # A message without an id gets one from its position and content, and positions shift.
    texts = {(message.role, message.text) for message in sent if message.id not in named}
    return [m.id for m in stored if m.id not in ids and (m.role, m.text) not in texts]
