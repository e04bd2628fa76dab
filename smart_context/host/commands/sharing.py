"""`memory.share_chat`: lets all people of a vault use a chat, or only its own person again."""

from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject
from smart_context.chat.ids import check_chat_id
from smart_context.host.access import OwnChat
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.events.events import CHAT_SHARED, Emit
from smart_context.storage.guarded.storage import People

NOBODY_ELSE = "You are the only person who uses this vault: there is nobody to share with."


class SharingCommands:
    """Shares chats.

    Args:
        people: Whose the chats are; `None`: all are one person's.
        emit: Tells clients.
    """

    def __init__(self, people: People | None, emit: Emit) -> None:
        self._people = people
        self._emit = emit

    def register(self, commands: CommandRegistry) -> None:
        """Register the command."""
        commands.register("memory.share_chat", self.share_chat)

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
