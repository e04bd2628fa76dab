"""Commands that find the topics of a chat, and where in it they are."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.ids import check_chat_id
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.topics.updates import TopicUpdates


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCommands:
    """Starts extractions on demand, and locates topics."""

    topics: TopicUpdates
    chat_filter: ChatFilter
    latest: Callable[[Hashable, Coroutine[Any, Any, None]], asyncio.Task[None]]

    async def refresh_topics(
        self, chat_id: str, wait: bool = False, regroup: bool = False
    ) -> Mapping[str, Any]:
        """Find the topics of a chat now, in the background unless asked to wait.

        `regroup` groups the whole chat again; else topics stay, and only new messages join.
        """
        checked = check_chat_id(chat_id)
        task = self.latest(("topics", checked), self.topics.update(checked, regroup=regroup))
        if wait:
            await asyncio.wait([task])  # a newer extraction may cancel it
            return await self.chat_filter.topics(checked)
        return {"state": "running"}

    async def topic_map(self, chat_id: str) -> JsonObject:
        """Where each topic is in a chat: the ids of all messages, and places among them."""
        view = await self.chat_filter.view(check_chat_id(chat_id))
        place_of = {message.id: place for place, message in enumerate(view.messages)}
        return {
            "chat_id": chat_id,
            "message_ids": list(place_of),
            "topics": [
                {
                    "id": topic.id,
                    "label": topic.label,
                    "places": [place_of[i] for i in topic.message_ids if i in place_of],
                }
                for topic in view.sidecar.topics
            ],
        }
