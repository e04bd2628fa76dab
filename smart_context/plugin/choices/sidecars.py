"""What the plugin keeps next to a chat: the filter's state and the topics' members.

The files are the truth, and other processes change them too: a command beside a running server, a
second server. So each reader looks whether a file has changed, and each writer changes what is in
the file now. Both files can be lost without losing a word of the chat, so a damaged one reads as
an empty one.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from smart_context.chat.messages import ChatId
from smart_context.disk.files import (
    Conflict,
    Signature,
    read_file,
    replace_unless_changed,
    signature_of,
)
from smart_context.disk.json_file import encoded, parsed
from smart_context.disk.places import Place
from smart_context.errors import StoreFailed
from smart_context.plugin.choices.state import FilterState, merged
from smart_context.threads import to_end
from smart_context.topics.stored import from_assignments, to_assignments
from smart_context.topics.values import Topic

FILTER_SUFFIX = "filter.json"
MEMBERS_SUFFIX = "topics.json"
MAX_CHATS_IN_MEMORY = 256
MAX_BYTES = 32 * 1024 * 1024
_ATTEMPTS = 20

PathOf = Callable[[ChatId, str], Path | Place]
"""Names the side-car file of a chat, given its suffix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSidecar:
    """All that is kept next to one chat.

    Attributes:
        state: What the user chose.
        topics: The topics with the messages that extraction assigned to each, the public ones
            and those that are gone but still selected.
    """

    state: FilterState = field(default_factory=FilterState)
    topics: tuple[Topic, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What the files held when they were read or written last."""

    sidecar: ChatSidecar
    filter: Signature | None
    members: Signature | None


OnChange = Callable[[ChatId, ChatSidecar, FilterState], None]
"""Called after a change with what was before it and the state after it."""


class Sidecars:
    """Reads and changes them.

    A chat that has no file yet has no side-cars either: what is chosen for it stays in memory
    until `keep_state`.

    Args:
        path_of: Where they are.
        logger: For what people should know.
        on_change: Called after each change of a filter's state but those of `restore`.
        on_news: Called when another process has changed what was given out.
    """

    def __init__(
        self,
        path_of: PathOf,
        logger: logging.Logger,
        *,
        on_change: OnChange = lambda _chat, _before, _after: None,
        on_news: Callable[[ChatId], None] = lambda _chat: None,
    ) -> None:
        self._path_of = path_of
        self._logger = logger
        self._on_change = on_change
        self._on_news = on_news
        self._known: OrderedDict[ChatId, _Known] = OrderedDict()
        self._unstored: OrderedDict[ChatId, ChatSidecar] = OrderedDict()
        self._revisions: Counter[ChatId] = Counter()
        self._unreadable: set[ChatId] = set()
        self._writing = asyncio.Lock()

    async def of(self, chat_id: ChatId) -> ChatSidecar:
        """What is kept next to a chat now; the same object as long as nothing has changed."""
        if chat_id in self._unstored:
            return self._unstored[chat_id]
        try:
            known = await self._read(chat_id)
        except StoreFailed as error:
            self._warn(chat_id, error)
            last = self._known.get(chat_id)
            return last.sidecar if last else ChatSidecar()
        self._unreadable.discard(chat_id)
        return known.sidecar

    async def look(self, chat_id: ChatId) -> None:
        """Look whether another process has changed what was given out, if anything was."""
        if chat_id in self._known:
            await self.of(chat_id)

    def revision(self, chat_id: ChatId) -> int:
        """A number that grows with each change that this process has made or seen."""
        return self._revisions[chat_id]

    def forget(self, chat_id: ChatId) -> None:
        """The chat is gone, and what was chosen for it."""
        self._known.pop(chat_id, None)
        self._unstored.pop(chat_id, None)
        self._revisions.pop(chat_id, None)

    async def change_state(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState], *, stored: bool
    ) -> FilterState:
        """Change a filter's state; two changes at once both take effect, in any processes.

        Args:
            chat_id: The chat.
            change: Gives the new state from the current one; called again with a newer one when
                another process was faster.
            stored: `False` for a chat that has no file yet.

        Raises:
            StoreFailed: If the disk refuses; the state is as it was.
        """
        async with self._writing:
            before, after = await self._change(chat_id, change, stored=stored)
        if after != before.state:
            self._on_change(chat_id, before, after)
        return after

    async def restore(
        self, chat_id: ChatId, state: FilterState, *, instead_of: FilterState, stored: bool
    ) -> None:
        """Take the step between two states back; what else has changed since stays.

        Raises:
            StoreFailed: If the disk refuses; the state is as it was.
        """
        async with self._writing:
            await self._change(chat_id, lambda now: merged(instead_of, now, state), stored=stored)

    async def keep_state(self, chat_id: ChatId) -> None:
        """Write the state that was chosen before the chat had a file; else nothing.

        Raises:
            StoreFailed: If the disk refuses; the state stays in memory.
        """
        async with self._writing:
            await self._store_chosen(chat_id)

    async def keep_topics(self, chat_id: ChatId, topics: Sequence[Topic]) -> None:
        """Keep the members of a chat's new topics, and of the gone ones that are still selected.

        A topic that is gone goes on filtering until the user lets it go.

        Raises:
            StoreFailed: If the disk refuses; the members are as they were.
        """
        labels = {topic.label for topic in topics}

        def write(known: _Known) -> _Known:
            gone = (
                topic
                for topic in known.sidecar.topics
                if topic.label in known.sidecar.state.active_topics and topic.label not in labels
            )
            kept = (*topics, *gone)
            signature = self._put(chat_id, MEMBERS_SUFFIX, to_assignments(kept), known.members)
            return replace(known, sidecar=replace(known.sidecar, topics=kept), members=signature)

        async with self._writing:
            await self._written(chat_id, write)

    async def _change(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState], *, stored: bool
    ) -> tuple[ChatSidecar, FilterState]:
        """What was before, and the state after."""
        if stored:
            await self._store_chosen(chat_id)
            return await self._write_state(chat_id, change)
        before = await self.of(chat_id)
        after = change(before.state)
        self._unstored[chat_id] = replace(before, state=after)
        self._revisions[chat_id] += 1
        if len(self._unstored) > MAX_CHATS_IN_MEMORY:
            self._unstored.popitem(last=False)
        return before, after

    async def _store_chosen(self, chat_id: ChatId) -> None:
        """Write what was chosen before the chat had a file."""
        chosen = self._unstored.get(chat_id)
        if chosen is not None:
            start = FilterState()
            await self._write_state(chat_id, lambda now: merged(start, now, chosen.state))
            self._unstored.pop(chat_id, None)

    async def _write_state(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState]
    ) -> tuple[ChatSidecar, FilterState]:
        before: list[ChatSidecar] = []

        def write(known: _Known) -> _Known:
            before[:] = [known.sidecar]
            state = change(known.sidecar.state)
            if state == known.sidecar.state:
                return known
            signature = self._put(chat_id, FILTER_SUFFIX, state.to_dict(), known.filter)
            return replace(known, sidecar=replace(known.sidecar, state=state), filter=signature)

        known = await self._written(chat_id, write)
        return before[-1], known.sidecar.state

    async def _written(self, chat_id: ChatId, write: Callable[[_Known], _Known]) -> _Known:
        """What the files hold after a write that starts from what they hold now."""
        for _ in range(_ATTEMPTS):
            known = await self._read(chat_id)
            try:
                written = await to_end(partial(write, known))
            except Conflict:
                continue
            self._remember(chat_id, written)
            return written
        raise StoreFailed(
            f"What was chosen for the chat {chat_id!r} was not stored: another program changes it "
            "all the time. Stop that program and try again."
        )

    async def _read(self, chat_id: ChatId) -> _Known:
        """What the files hold.

        Raises:
            StoreFailed: If the disk refuses.
        """
        last = self._known.get(chat_id)
        known = await to_end(lambda: self._looked_at(chat_id, last))
        if self._known.get(chat_id) is last:  # else what was written meanwhile is newer
            self._remember(chat_id, known)
            if last is not None and known.sidecar != last.sidecar:
                self._on_news(chat_id)
        return known

    def _remember(self, chat_id: ChatId, known: _Known) -> None:
        last = self._known.get(chat_id)
        if last is not None and last is not known:
            self._revisions[chat_id] += 1
        self._known[chat_id] = known
        self._known.move_to_end(chat_id)
        if len(self._known) > MAX_CHATS_IN_MEMORY:
            self._revisions.pop(self._known.popitem(last=False)[0], None)

    def _looked_at(self, chat_id: ChatId, last: _Known | None) -> _Known:
        paths = [self._path_of(chat_id, suffix) for suffix in (FILTER_SUFFIX, MEMBERS_SUFFIX)]
        signatures = [signature_of(path) for path in paths]
        if last is not None and signatures == [last.filter, last.members]:
            return last
        (filter_, state), (members, topics) = map(self._document, paths)
        sidecar = ChatSidecar(state=FilterState.from_dict(state), topics=from_assignments(topics))
        return _Known(sidecar, filter_, members)

    def _document(self, path: Path | Place) -> tuple[Signature | None, Mapping[str, Any]]:
        found = read_file(path, max_bytes=MAX_BYTES)
        if found is None:
            return None, {}
        signature, content = found
        document = parsed(content)
        if document is None:
            self._logger.warning("%s can't be read as a JSON object; it counts as empty.", path)
        return signature, document or {}

    def _put(
        self,
        chat_id: ChatId,
        suffix: str,
        document: Mapping[str, Any],
        expected: Signature | None,
    ) -> Signature:
        return replace_unless_changed(self._path_of(chat_id, suffix), encoded(document), expected)

    def _warn(self, chat_id: ChatId, error: StoreFailed) -> None:
        if chat_id not in self._unreadable:
            self._unreadable.add(chat_id)
            self._logger.warning("What was chosen for chat %s can't be read: %s", chat_id, error)
