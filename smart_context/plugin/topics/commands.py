"""The command that finds the topics of a chat."""

from asyncio import Task
from collections.abc import Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from smart_context.chat.ids import check_chat_id
from smart_context.host.commands.registry import CommandHandler
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.topics.updates import TopicUpdates
from smart_context.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCommands:
    """Starts extractions on demand.

    Attributes:
        topics: Finds the topics of chats.
        chat_filter: Shows them.
        latest: Runs work in the background, in place of earlier work of the same key.
    """

    topics: TopicUpdates
    chat_filter: ChatFilter
    latest: Callable[[Hashable, Coroutine[Any, Any, None]], Task[None]]

    def commands(self) -> Mapping[str, CommandHandler]:
        """The commands by name."""
        return {"refresh_topics": self.refresh_topics}

    async def refresh_topics(self, chat_id: str, wait: bool = False) -> JsonObject:
        """Find the topics of a chat now, in the background unless asked to wait."""
        checked = check_chat_id(chat_id)
        task = self.latest(("topics", checked), self.topics.update(checked))
        if wait:
            await task
            return await self.chat_filter.topics(checked)
        return {"state": "running"}
