"""The commands of the trash: list, remove for ever, empty."""

from dataclasses import asdict

from smart_context.base.values import JsonObject
from smart_context.chat.ids import check_chat_id
from smart_context.host.access import OwnChat
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.events.events import TRASH_CHANGED, Emit
from smart_context.storage.ports import ChatTrash


class TrashCommands:
    """What clients do with deleted chats; `memory.restore_chat` brings one back.

    Args:
        trash: The deleted chats.
        emit: Tells clients.
    """

    def __init__(self, trash: ChatTrash, emit: Emit) -> None:
        self._trash = trash
        self._emit = emit

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register("memory.list_trash", self.list_trash)
        commands.register("memory.purge_chat", self.purge_chat)
        commands.register("memory.empty_trash", self.empty_trash)

    async def list_trash(self, caller: Caller) -> JsonObject:
        """List the deleted chats, newest first: at most 200, and the number of all."""
        found, total = await self._trash.listed(caller.person)
        return {"chats": [asdict(deleted) for deleted in found], "total": total}

    async def purge_chat(self, chat_id: OwnChat, caller: Caller, deletion: str = "") -> JsonObject:
        """Remove a deleted chat for ever: all its deletions, or the one named."""
        checked = check_chat_id(chat_id)
        removed = await self._trash.purge(checked, deletion)
        self._emit(TRASH_CHANGED, {}, caller.person)
        return {"chat_id": checked, "removed": removed}

    async def empty_trash(self, caller: Caller, until: str = "") -> JsonObject:
        """Remove all deleted chats for ever, or those that were deleted by a time."""
        try:
            return {"removed": await self._trash.empty(caller.person, until)}
        finally:
            self._emit(TRASH_CHANGED, {}, caller.person)
