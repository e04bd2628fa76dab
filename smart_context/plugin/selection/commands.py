"""Commands that show and change a chat's filter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from smart_context.base.results import FilterResult, PanelResult
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import MessageId
from smart_context.plugin.selection.chat_filter import ChatFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCommands:
    """The filter's commands."""

    chat_filter: ChatFilter

    async def set_filter(self, chat_id: str, topics: list[str]) -> FilterResult:
        """Select topics, by label; an empty list clears the filter."""
        return await self.chat_filter.change(check_chat_id(chat_id), lambda s: s.select(topics))

    async def apply_now(self, chat_id: str) -> FilterResult:
        """Apply the selection of a chat now, though sending all messages is cheaper."""
        return await self.chat_filter.change(check_chat_id(chat_id), lambda s: s.apply_now())

    async def get_topics(self, chat_id: str) -> PanelResult:
        """The topics of a chat, the selected ones, and what is in context."""
        return await self.chat_filter.topics(check_chat_id(chat_id))

    async def suggest_topics(self, chat_id: str, message: str) -> Mapping[str, Any]:
        """The topics that a message which is being written is clearly about; changes nothing."""
        view = await self.chat_filter.view(check_chat_id(chat_id))
        return {"topics": await self.chat_filter.selector.topics_about(view, message)}

    async def set_similarity_mode(self, chat_id: str, enabled: bool) -> Mapping[str, Any]:
        """Turn the similarity search of a chat on or off; off clears the selection."""
        checked = check_chat_id(chat_id)
        shown = await self.chat_filter.change(checked, lambda s: s.switch(enabled=enabled))
        return {"embedding_search": enabled, **shown}

    async def pin(self, chat_id: str, message_ids: list[str]) -> FilterResult:
        """Keep messages in context, whatever the filter says."""
        ids = _ids(message_ids)
        return await self.chat_filter.change(check_chat_id(chat_id), lambda s: s.pin(ids))

    async def hide(self, chat_id: str, message_ids: list[str]) -> FilterResult:
        """Keep messages out of context, whatever the filter says."""
        ids = _ids(message_ids)
        return await self.chat_filter.change(check_chat_id(chat_id), lambda s: s.hide(ids))

    async def release(self, chat_id: str, message_ids: list[str]) -> FilterResult:
        """Let the filter decide about messages again."""
        ids = _ids(message_ids)
        return await self.chat_filter.change(check_chat_id(chat_id), lambda s: s.release(ids))

    async def set_file_tools(self, chat_id: str, on: bool) -> Mapping[str, Any]:
        """Let the model read files of the vault in a chat, or don't."""
        checked = check_chat_id(chat_id)
        shown = await self.chat_filter.change(checked, lambda s: s.offer_files(on=on))
        return {"file_tools": on, **shown}


def _ids(message_ids: Iterable[str]) -> list[MessageId]:
    return [MessageId(message_id) for message_id in message_ids]
