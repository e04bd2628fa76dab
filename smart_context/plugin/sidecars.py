"""What the plugin keeps beside a chat: the filter's state and the topics' members.

Both can be lost without losing a word of the chat, so a damaged file reads as an empty one.
"""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from smart_context.chat.messages import ChatId
from smart_context.disk.files import atomic_write
from smart_context.disk.folders import read_inside
from smart_context.disk.places import Place, place_of
from smart_context.plugin.filter import FilterState
from smart_context.topics.stored import from_assignments, to_assignments
from smart_context.topics.values import Topic

FILTER_SUFFIX = "filter.json"
MEMBERS_SUFFIX = "topics.json"
MAX_CHATS_IN_MEMORY = 256
MAX_BYTES = 32 * 1024 * 1024

PathOf = Callable[[ChatId, str], Path | Place]
"""Names the side-car file of a chat, given its suffix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSidecar:
    """All that is kept beside one chat.

    Attributes:
        state: What the user chose.
        topics: The topics with the messages that extraction assigned to each, the public ones
            and those that are gone but still selected.
    """

    state: FilterState = field(default_factory=FilterState)
    topics: tuple[Topic, ...] = ()


class Sidecars:
    """Reads and writes them; what was read lately stays in memory.

    Args:
        path_of: Where they are.
        logger: For what people should know.
        before_change: Told of each change of a filter's state what was there before.
    """

    def __init__(
        self,
        path_of: PathOf,
        logger: logging.Logger,
        *,
        before_change: Callable[[ChatId, ChatSidecar], None] = lambda _chat, _before: None,
    ) -> None:
        self._path_of = path_of
        self._logger = logger
        self._before_change = before_change
        self._known: OrderedDict[ChatId, ChatSidecar] = OrderedDict()
        self._unstored: set[ChatId] = set()
        self._writing = asyncio.Lock()

    async def of(self, chat_id: ChatId) -> ChatSidecar:
        """What is kept beside a chat; nothing yet: the empty values."""
        known = self._known.get(chat_id)
        if known is None:
            known = await asyncio.to_thread(self._read, chat_id)
        self._remember(chat_id, known)
        return known

    def forget(self, chat_id: ChatId) -> None:
        """Read the files again when they are asked for next."""
        self._known.pop(chat_id, None)
        self._unstored.discard(chat_id)

    async def change_state(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState], *, stored: bool
    ) -> FilterState:
        """Change a filter's state; two changes at once both take effect.

        Args:
            chat_id: The chat.
            change: Gives the new state from the current one.
            stored: `False` for a chat that has no file yet: nothing is written then, but by
                `keep_state`.
        """
        async with self._writing:
            sidecar = await self.of(chat_id)
            changed = replace(sidecar, state=change(sidecar.state))
            if changed != sidecar:
                self._before_change(chat_id, sidecar)
            await self._put_state(chat_id, changed, stored=stored)
        return changed.state

    async def restore(self, chat_id: ChatId, state: FilterState, *, stored: bool) -> None:
        """Bring back a former state, without telling of it as a change."""
        async with self._writing:
            sidecar = await self.of(chat_id)
            await self._put_state(chat_id, replace(sidecar, state=state), stored=stored)

    async def keep_state(self, chat_id: ChatId) -> None:
        """Write the state that was chosen before the chat had a file; else nothing."""
        if chat_id not in self._unstored:
            return
        async with self._writing:
            self._unstored.discard(chat_id)
            sidecar = await self.of(chat_id)
            await self._write(chat_id, FILTER_SUFFIX, sidecar.state.to_dict())

    async def keep_topics(self, chat_id: ChatId, topics: Sequence[Topic]) -> None:
        """Keep the members of a chat's new topics, and of the gone ones that are still selected.

        A topic that is gone goes on filtering until the user lets it go.
        """
        labels = {topic.label for topic in topics}
        async with self._writing:
            sidecar = await self.of(chat_id)
            gone = (
                topic
                for topic in sidecar.topics
                if topic.label in sidecar.state.active_topics and topic.label not in labels
            )
            kept = (*topics, *gone)
            self._remember(chat_id, replace(sidecar, topics=kept))
            await self._write(chat_id, MEMBERS_SUFFIX, to_assignments(kept))

    async def _put_state(self, chat_id: ChatId, sidecar: ChatSidecar, *, stored: bool) -> None:
        self._remember(chat_id, sidecar)
        if stored:
            await self._write(chat_id, FILTER_SUFFIX, sidecar.state.to_dict())
            self._unstored.discard(chat_id)
        else:
            self._unstored.add(chat_id)

    def _remember(self, chat_id: ChatId, sidecar: ChatSidecar) -> None:
        self._known[chat_id] = sidecar
        self._known.move_to_end(chat_id)
        if len(self._known) > MAX_CHATS_IN_MEMORY:
            self._known.popitem(last=False)

    def _read(self, chat_id: ChatId) -> ChatSidecar:
        return ChatSidecar(
            state=FilterState.from_dict(self._read_json(chat_id, FILTER_SUFFIX)),
            topics=from_assignments(self._read_json(chat_id, MEMBERS_SUFFIX)),
        )

    def _read_json(self, chat_id: ChatId, suffix: str) -> Mapping[str, Any]:
        path = self._path_of(chat_id, suffix)
        try:
            document = json.loads(read_inside(place_of(path), max_bytes=MAX_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            self._logger.warning("%s can't be read (%s); it counts as empty.", path, error)
            return {}
        return document if isinstance(document, dict) else {}

    async def _write(self, chat_id: ChatId, suffix: str, document: Mapping[str, Any]) -> None:
        text = json.dumps(document, ensure_ascii=False)
        await asyncio.to_thread(
            atomic_write, self._path_of(chat_id, suffix), text.encode("utf-8", "surrogatepass")
        )
