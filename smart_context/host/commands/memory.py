"""The commands `memory.*`: load, save, list, search, rename, share, delete, restore, the trash."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject
from smart_context.chat.documents.document import no_messages, set_value
from smart_context.chat.documents.lineage import ANYBODY
from smart_context.chat.ids import check_chat_id
from smart_context.chat.listed.rows import folder_of
from smart_context.chat.listed.search import fold
from smart_context.chat.messages import ChatId, Message, MessageId, messages_of
from smart_context.host.access import FilesNamed, OwnChat, OwnChats
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.events.events import CHAT_DELETED, CHAT_SHARED, TRASH_CHANGED, Emit
from smart_context.storage.guarded.storage import People
from smart_context.storage.ports import Chats

MAX_HITS = 200
NOBODY_ELSE = "You are the only person who uses this vault: there is nobody to share with."


class MemoryCommands:
    """What clients do with whole chats.

    Args:
        repair: Repairs a chat after a crash, before it is read.
        settled: Waits until plugins have handled the events so far.
        people: Whose the chats are; `None`: all are one person's.
    """

    def __init__(
        self,
        store: Chats,
        stop: Callable[[ChatId], Awaitable[bool]],
        repair: Callable[[ChatId], Awaitable[None]],
        settled: Callable[[], Awaitable[None]],
        emit: Emit,
        people: People | None,
    ) -> None:
        self._store = store
        self._stop = stop
        self._repair = repair
        self._settled = settled
        self._emit = emit
        self._people = people

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register("memory.load_chat", self.load_chat)
        commands.register("memory.save_chat", self.save_chat)
        commands.register("memory.find", self.find)
        commands.register("memory.list_chats", self.list_chats)
        commands.register("memory.search", self.search)
        commands.register("memory.rename_chat", self.rename_chat)
        commands.register("memory.arrange_chats", self.arrange_chats)
        commands.register("memory.delete_chat", self.delete_chat)
        commands.register("memory.restore_chat", self.restore_chat)
        commands.register("memory.list_trash", self.list_trash)
        commands.register("memory.purge_chat", self.purge_chat)
        commands.register("memory.empty_trash", self.empty_trash)
        commands.register("memory.share_chat", self.share_chat)

    async def load_chat(self, chat_id: str, caller: Caller) -> JsonObject:
        """Give a chat's document; without messages if the chat does not exist."""
        checked = check_chat_id(chat_id)
        await self._repair(checked)
        return await self._store.load(checked, reader=_reader(caller))

    async def save_chat(
        self, chat_id: str, data: Annotated[dict[str, Any], FilesNamed], caller: Caller
    ) -> JsonObject:
        """Store a chat's document, merged with what others changed meanwhile.

        Messages missing in the document are deleted only if this client has seen them; `kept`
        names the others.
        """
        checked = check_chat_id(chat_id)
        stored = messages_of(await self._store.save(checked, data, reader=_reader(caller)))
        result: JsonObject = {"chat_id": checked, "total_messages": len(stored)}
        kept = _missing(data, stored) if "messages" in data else []
        return {**result, "kept": kept} if kept else result

    async def list_chats(self, caller: Caller) -> JsonObject:
        """List the chats, newest first."""
        rows = await self._store.listing.rows(caller.person)
        return {"chats": [row.document() for row in rows]}

    async def search(self, query: str, caller: Caller, limit: int = 50) -> JsonObject:
        """Find chats by their messages."""
        hits = await self._store.listing.search(
            caller.person, query, limit=max(1, min(limit, MAX_HITS))
        )
        return {"query": query, "results": [asdict(hit) for hit in hits]}

    async def find(self, chat_id: str, query: str) -> JsonObject:
        """Find the messages of a chat that hold a text, whatever its case; oldest first."""
        messages = await self._store.messages(check_chat_id(chat_id))
        wanted = fold(" ".join(query.split()))

        def found() -> list[MessageId]:
            return [m.id for m in messages if wanted in fold(" ".join(m.text.split()))]

        return {"message_ids": await asyncio.to_thread(found) if wanted else []}

    async def rename_chat(self, chat_id: OwnChat, title: str) -> JsonObject:
        """Change a chat's title."""
        checked = check_chat_id(chat_id)
        return {"chat_id": checked, "title": await self._store.rename(checked, title)}

    async def arrange_chats(
        self,
        chat_ids: OwnChats,
        folder: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> JsonObject:
        """Put chats into a folder of the list (empty: none), to its top, or away from it.

        What is left out stays as it is.
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

        checked = [check_chat_id(chat_id) for chat_id in chat_ids]
        for chat_id in checked:
            await self._store.update(chat_id, arrange, since=no_messages, creates=False)
        return {"chat_ids": checked, **wanted}

    async def delete_chat(self, chat_id: OwnChat) -> JsonObject:
        """Move a chat to the trash; an answer that is under way is stopped first."""
        checked = check_chat_id(chat_id)
        await self._stop(checked)
        await self._store.delete(checked)
        self._emit(CHAT_DELETED, {"chat_id": checked})
        await self._settled()
        return {"chat_id": checked}

    async def restore_chat(self, chat_id: OwnChat, deletion: str = "") -> JsonObject:
        """Restore a chat from the trash: its last deletion, or the one named."""
        checked = check_chat_id(chat_id)
        await self._store.restore(checked, deletion)
        return {"chat_id": checked}

    async def list_trash(self, caller: Caller) -> JsonObject:
        """List the deleted chats, newest first: at most 200, and the number of all."""
        found, total = await self._store.trash.listed(caller.person)
        return {"chats": [asdict(deleted) for deleted in found], "total": total}

    async def purge_chat(self, chat_id: OwnChat, caller: Caller, deletion: str = "") -> JsonObject:
        """Remove a deleted chat for ever: all its deletions, or the one named."""
        checked = check_chat_id(chat_id)
        removed = await self._store.trash.purge(checked, deletion)
        self._emit(TRASH_CHANGED, {}, caller.person)
        return {"chat_id": checked, "removed": removed}

    async def empty_trash(self, caller: Caller, until: str = "") -> JsonObject:
        """Remove all deleted chats for ever, or those that were deleted by a time."""
        try:
            return {"removed": await self._store.trash.empty(caller.person, until)}
        finally:
            self._emit(TRASH_CHANGED, {}, caller.person)

    async def share_chat(self, chat_id: OwnChat, shared: bool, caller: Caller) -> JsonObject:
        """Let all people read a chat and write in it, or only its own person again."""
        if self._people is None:
            raise CommandFailed(NOBODY_ELSE)
        checked = check_chat_id(chat_id)
        told = {"chat_id": checked, "shared": shared, "person": caller.person}
        if not shared:
            self._emit(CHAT_SHARED, told)  # while those it was shared with can still hear it
        await self._people.owners.share(checked, caller.person, shared=shared)
        if shared:
            self._emit(CHAT_SHARED, told)
        return {"chat_id": checked, "shared": shared}


def _reader(caller: Caller) -> str:
    """The reader whose version of a chat counts: the connection, or anybody."""
    return caller.client.id if caller.client else ANYBODY


def _missing(data: JsonObject, stored: Sequence[Message]) -> list[MessageId]:
    """The stored messages that a document lacks."""
    sent = messages_of(data)
    ids = {message.id for message in sent}
    given = (entry.get("id") for entry in data["messages"] if isinstance(entry, dict))
    named = {message_id for message_id in given if isinstance(message_id, str)}
    # A message without an id gets one from its position and content, and positions shift.
    texts = {(message.role, message.text) for message in sent if message.id not in named}
    return [m.id for m in stored if m.id not in ids and (m.role, m.text) not in texts]
