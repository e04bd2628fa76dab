"""The commands that go on with another chat in a chat of one's own: copy, fork."""

import secrets
from collections.abc import Awaitable, Callable

from smart_context.base.errors import CommandFailed
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.copies import (
    CONTINUED_FROM,
    FORKED_FROM,
    copied_entries,
    copy_of,
    entries_until,
)
from smart_context.chat.documents.branches import branches_of, set_branches
from smart_context.chat.documents.lineage import NOBODY
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.chat.messages import SOURCE, ChatId
from smart_context.host.commands.registry import CommandRegistry
from smart_context.host.events.events import ChatCopied
from smart_context.storage.ports import Chats


class CopyCommands:
    """Makes chats of other chats.

    Args:
        tell_plugins: Lets plugins copy what they keep of the messages.
    """

    def __init__(self, store: Chats, tell_plugins: Callable[[ChatCopied], Awaitable[None]]) -> None:
        self._store = store
        self._tell_plugins = tell_plugins

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register("memory.copy_chat", self.copy_chat)
        commands.register("memory.fork", self.fork)

    async def copy_chat(self, chat_id: str) -> JsonObject:
        """Copy a chat with its versions into one of your own."""
        checked = check_chat_id(chat_id)
        document = await self._store.load(checked, reader=NOBODY)
        copy = _titled(copy_of(document, document["messages"]), document, "copy")
        branches = branches_of(document)
        set_branches(copy, [{**b, "messages": copied_entries(b["messages"], {})} for b in branches])
        copy[CONTINUED_FROM] = checked
        return await self._stored(checked, copy)

    async def fork(
        self, chat_id: str, message_id: str, topics: list[str] | None = None
    ) -> JsonObject:
        """Go on from a message in a new chat, which has all up to it; `topics` are picked there.

        A tool call is copied with all its results.
        """
        checked = check_chat_id(chat_id)
        document = await self._store.load(checked, reader=NOBODY)
        entries = entries_until(document, message_id)
        if not entries:
            raise CommandFailed(f"message {message_id[:80]!r} not found in chat {checked!r}")
        copy = _titled(copy_of(document, entries), document, "branch")
        at = utc_stamp()
        copy[FORKED_FROM] = {"chat_id": checked, "message_id": message_id, "at": at}
        return await self._stored(checked, copy, topics)

    async def _stored(
        self, source: ChatId, copy: JsonObject, topics: list[str] | None = None
    ) -> JsonObject:
        if not copy["messages"]:
            raise CommandFailed(f"chat {source!r} has no messages to continue from")
        made = new_chat_id()
        await self._store.save(made, copy, reader=secrets.token_hex(4))
        await self._tell_plugins({"chat_id": made, "source": source, "topics": topics or []})
        return {"chat_id": made, "messages": len(copy["messages"])}


def _titled(copy: JsonObject, document: JsonObject, kind: str) -> JsonObject:
    """The copy with a title that tells it from the other; one of a client goes on by its name."""
    title = document.get("title")
    if SOURCE in document or not isinstance(title, str) or not title:
        return copy
    return {**copy, "title": f"{title} ({kind})"}
