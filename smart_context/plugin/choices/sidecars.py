"""The side-cars of chats: documents beside a chat with the filter's state and topics' members.

They are the only source of truth, since other processes (a command, a second server) change them
too. So each reader checks for changes, and each writer starts from the stored content.

Choices keep messages from being sent, so unreadable choices do not count as no choices: the last
ones that were read stay in force. Without those, nothing is sent until the person chooses again.
Damaged topics read as empty, since extraction finds them again.
"""

import asyncio
import logging
import operator
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from cachetools import LRUCache

from smart_context.base.errors import StoreFailed
from smart_context.base.lookups import Lookups
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.documents.choices import CHOICES, choices_name, unreadable_in
from smart_context.chat.messages import ChatId, MessageId
from smart_context.plugin.choices.message_topics import TopicName
from smart_context.plugin.choices.state import FilterState, merged
from smart_context.plugin.choices.topic_edits import TopicEdits
from smart_context.storage.ports import ChatDocuments, Conflict, Document, Storage
from smart_context.topics.stored import from_assignments, seen_in, to_assignments
from smart_context.topics.values import Topic

MEMBERS = "topics"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSidecar:
    """The state and the topics that are stored next to one chat."""

    state: FilterState = field(default_factory=FilterState)
    # the topics with their messages: the current ones, and those that extraction no longer finds
    # but the user still has selected or deleted
    topics: tuple[Topic, ...] = ()
    seen: str = ""  # id of the last message that extraction has read; empty if unknown
    # topics of messages that only other versions of the chat have
    away: tuple[Topic, ...] = ()
    problem: str = ""  # why the choices can't be read, for the user; empty if they can
    members_problem: str = ""  # why the topics' members can't be read, for the user


@dataclass(frozen=True, slots=True, eq=False)
class StoredSidecar:
    """The side-car with the documents that it was read from, or written to."""

    sidecar: ChatSidecar
    filter: Document  # a person's choices
    members: Document  # the topics' members
    # the choices with the chat's edits of its topics; for the owner of the installation, the same
    # as `filter`
    edits: Document

    @property
    def documents(self) -> tuple[Document, ...]:
        """All documents, in the order of `document_names`."""
        own = () if self.edits is self.filter else (self.edits,)
        return self.filter, self.members, *own


def document_names(person: PersonId) -> tuple[str, ...]:
    """The names of a person's documents beside a chat."""
    own = choices_name(person)
    return (CHOICES, MEMBERS) if own == CHOICES else (own, MEMBERS, CHOICES)


def read_sidecar(documents: Sequence[Document], last: StoredSidecar | None = None) -> StoredSidecar:
    """The side-car in these documents; `last` itself if they have not changed."""
    if last is not None and all(map(operator.is_, documents, last.documents)):
        return last
    filter_, members, edits = documents[0], documents[1], documents[-1]
    edits = edits if len(documents) > 2 else filter_  # noqa: PLR2004 - see `document_names`
    state, problem = FilterState.from_dict(filter_.value), _problem_of(filter_)
    if problem and last is not None:
        state, problem = last.sidecar.state, last.sidecar.problem
    if edits is not filter_:
        state = _relabelled(replace(state, edits=FilterState.from_dict(edits.value).edits))
    sidecar = ChatSidecar(
        state=state,
        topics=from_assignments(members.value),
        seen=seen_in(members.value),
        away=from_assignments(members.value, "away"),
        problem=problem,
        members_problem=_LOST if _is_lost(members) else "",
    )
    return StoredSidecar(sidecar, filter_, members, edits)


def _relabelled(state: FilterState) -> FilterState:
    """The state with the current labels of its picked topics, which others may have renamed."""
    active = (state.edits.label_of(label) or label for label in state.active_topics)
    return replace(state, active_topics=tuple(dict.fromkeys(active)))


_LOST = (
    "Which messages each topic has can't be read: that document is damaged. It is found again "
    "after the next answer, or at once by “Find topics again”."
)


def _is_lost(members: Document) -> bool:
    listed = members.value.get("topics", [])
    return members.is_damaged or not isinstance(listed, list)


def _problem_of(choices: Document) -> str:
    wrong = "not a JSON object" if choices.is_damaged else unreadable_in(choices.value)
    return _unreadable(f"their document is damaged ({wrong})") if wrong else ""


def _unreadable(why: str) -> str:
    return (
        f"Your choices for this chat can't be read: {why}. Nothing is sent until you choose again: "
        "it could be more than you chose. Pick topics, or clear the filter to send all."
    )


MAX_CHATS_IN_MEMORY = 256
_ATTEMPTS = 20

_Key = tuple[ChatId, PersonId]

OnChange = Callable[[ChatId, ChatSidecar, FilterState], None]
"""Called after a change with the side-car before it and the state after it."""


class SidecarMemory:
    """The side-cars of all people that are in memory, and the locks for writing them."""

    def __init__(self) -> None:
        self.known: LRUCache[_Key, StoredSidecar] = LRUCache(MAX_CHATS_IN_MEMORY)
        self.unstored: LRUCache[_Key, ChatSidecar] = LRUCache(MAX_CHATS_IN_MEMORY)
        self.is_current: Lookups[_Key, bool] = Lookups()
        self.unreadable: set[_Key] = set()
        self._revisions: LRUCache[ChatId, int] = LRUCache(MAX_CHATS_IN_MEMORY)
        self._changed_elsewhere: list[Callable[[ChatId], None]] = []
        self._locks: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    def on_changed_elsewhere(self, listener: Callable[[ChatId], None]) -> None:
        """Call a function when another process has changed a side-car that is in memory."""
        self._changed_elsewhere.append(listener)

    def tell_changed_elsewhere(self, chat_id: ChatId) -> None:
        """Call the functions of `on_changed_elsewhere`."""
        for listener in self._changed_elsewhere:
            listener(chat_id)

    def lock(self, chat_id: ChatId) -> asyncio.Lock:
        """The lock for writing a chat's side-cars; each chat has its own."""
        return self._locks.setdefault(chat_id, asyncio.Lock())

    def people(self, chat_id: ChatId) -> Sequence[PersonId]:
        """The people whose choices for a chat are in memory."""
        found = [person for chat, person in [*self.known, *self.unstored] if chat == chat_id]
        return list(dict.fromkeys(found))

    def revision(self, chat_id: ChatId) -> int:
        """A number that grows with each change that this process makes or sees."""
        return self._revisions.get(chat_id, 0)

    def count_change(self, chat_id: ChatId) -> None:
        """Let `revision` grow."""
        self._revisions[chat_id] = self.revision(chat_id) + 1

    def forget(self, chat_id: ChatId) -> None:
        """Forget the side-cars of a deleted chat."""
        for kept in (self.known, self.unstored):
            for key in [key for key in kept if key[0] == chat_id]:
                kept.pop(key, None)
        self._revisions.pop(chat_id, None)


class Sidecars:
    """Reads and changes one person's side-cars of chats.

    A chat that is not stored has no side-cars: choices for it stay in memory until `keep_state`.
    In a shared chat, each person has their own choices; the edits of its topics are common to all.

    Args:
        memory: The side-cars in memory, common to all people.
        on_change: Called after each change of a filter's state, except by `restore`.
    """

    def __init__(
        self,
        documents: ChatDocuments,
        logger: logging.Logger,
        *,
        person: PersonId = OWNER,
        memory: SidecarMemory | None = None,
        on_change: OnChange = lambda _chat, _before, _after: None,
    ) -> None:
        self._documents = documents
        self._logger = logger
        self._person = person
        self._memory = memory or SidecarMemory()
        self._on_change = on_change

    async def of(self, chat_id: ChatId) -> ChatSidecar:
        """The side-car of a chat; the same object as long as nothing has changed.

        A request looks for changes by other processes once a second at most.

        Raises:
            StoreFailed: If the choices can't be read, and were not read before.
        """
        sidecar = await self.shown(chat_id)
        if sidecar.problem:
            raise StoreFailed(sidecar.problem)
        return sidecar

    async def shown(self, chat_id: ChatId) -> ChatSidecar:
        """The side-car for display: like `of`, but `problem` says why the choices can't be read."""
        key = self._key(chat_id)
        if key in self._memory.unstored:
            return self._memory.unstored[key]
        if key in self._memory.known and self._memory.is_current.get(key):
            return self._memory.known[key].sidecar
        try:
            known = await self._read(chat_id)
        except StoreFailed as error:
            self._warn(chat_id, error)
            last = self._memory.known.get(key)
            return last.sidecar if last else ChatSidecar(problem=_unreadable(str(error)))
        self._memory.unreadable.discard(key)
        return known.sidecar

    def revision(self, chat_id: ChatId) -> int:
        """A number that grows with each change that this process makes or sees."""
        return self._memory.revision(chat_id)

    async def change_state(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState], *, stored: bool
    ) -> FilterState:
        """Change a filter's state; concurrent changes all take effect, even of other processes.

        Args:
            change: Makes the new state from the current one; called again with a newer state
                when another process was faster.
            stored: `False` for a chat that has no file yet.

        Raises:
            StoreFailed: If the disk refuses; the state is unchanged.
        """
        async with self._memory.lock(chat_id):
            before, after = await self._change(chat_id, change, stored=stored)
        if after != before.state:
            self._on_change(chat_id, before, after)
        return after

    async def note_said(
        self,
        chat_id: ChatId,
        ids: Sequence[MessageId],
        topics: Sequence[TopicName],
        *,
        is_apart: bool,
    ) -> None:
        """Note that messages of a stored chat are said while topics are picked; no step to undo.

        Args:
            is_apart: The person has stated that they belong to none of these topics.

        Raises:
            StoreFailed: If the disk refuses.
        """

        def change(state: FilterState) -> FilterState:
            facts = state.edits.messages
            changed = facts.deny(ids, *topics) if is_apart else facts.say(ids, topics)
            return state.with_messages(changed)

        async with self._memory.lock(chat_id):
            await self._change(chat_id, change, stored=True)

    async def restore(
        self, chat_id: ChatId, state: FilterState, *, instead_of: FilterState, stored: bool
    ) -> None:
        """Undo the step between two states; later changes stay.

        Raises:
            StoreFailed: If the disk refuses; the state is unchanged.
        """
        async with self._memory.lock(chat_id):
            await self._change(chat_id, lambda now: merged(instead_of, now, state), stored=stored)

    async def keep_state(self, chat_id: ChatId) -> None:
        """Write the state that was chosen before the chat had a file, if there is one.

        Raises:
            StoreFailed: If the disk refuses; the state stays in memory.
        """
        async with self._memory.lock(chat_id):
            await self._store_chosen(chat_id)

    async def keep_topics(
        self,
        chat_id: ChatId,
        topics: Sequence[Topic],
        *,
        seen: str | None = None,
        away: Sequence[Topic] | None = None,
    ) -> None:
        """Store a chat's new topics, and the lost ones that are still selected or were deleted.

        A topic that is no longer found keeps filtering until the user deselects it. The messages
        of a deleted topic don't go into others.

        Args:
            seen: The last message that was read for them; `None` leaves the stored one.
            away: The topics of messages of other versions; `None` leaves the stored ones.

        Raises:
            StoreFailed: If the disk refuses; the topics are unchanged.
        """
        labels = {topic.label for topic in topics}

        async def write(known: StoredSidecar) -> StoredSidecar:
            state = known.sidecar.state
            wanted = {*state.active_topics, *state.edits.deleted}
            gone = (
                topic
                for topic in known.sidecar.topics
                if topic.label in wanted and topic.label not in labels
            )
            kept = (*topics, *gone)
            last = known.sidecar.seen if seen is None else seen
            others = known.sidecar.away if away is None else tuple(away)
            stored = await self._documents.replace(
                chat_id,
                MEMBERS,
                to_assignments(kept, last, others),
                expected=known.members.revision,
                keeps_copy=_is_lost(known.members),
            )
            sidecar = replace(
                known.sidecar, topics=kept, seen=last, away=others, members_problem=""
            )
            return replace(known, sidecar=sidecar, members=stored)

        async with self._memory.lock(chat_id):
            await self._written(chat_id, write)

    async def _change(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState], *, stored: bool
    ) -> tuple[ChatSidecar, FilterState]:
        """The side-car before the change, and the state after it."""
        if stored:
            await self._store_chosen(chat_id)
            return await self._write_state(chat_id, change)
        before = await self.shown(chat_id)
        after = change(before.state)
        self._memory.unstored[self._key(chat_id)] = replace(before, state=after)
        self._memory.count_change(chat_id)
        return before, after

    async def _store_chosen(self, chat_id: ChatId) -> None:
        """Write the choices that were made before the chat had a file."""
        chosen = self._memory.unstored.get(self._key(chat_id))
        if chosen is not None:
            start = FilterState()
            await self._write_state(chat_id, lambda now: merged(start, now, chosen.state))
            self._memory.unstored.pop(self._key(chat_id), None)

    async def _write_state(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState]
    ) -> tuple[ChatSidecar, FilterState]:
        before: list[ChatSidecar] = []

        async def write(known: StoredSidecar) -> StoredSidecar:
            before[:] = [known.sidecar]
            state = change(known.sidecar.state)
            if known.edits is not known.filter:
                state = _relabelled(state)
            if state == known.sidecar.state and not _problem_of(known.filter):
                return known
            return await self._write(chat_id, known, state)

        known = await self._written(chat_id, write)
        return before[-1], known.sidecar.state

    async def _write(
        self, chat_id: ChatId, known: StoredSidecar, state: FilterState
    ) -> StoredSidecar:
        name, edits = document_names(self._person)[0], known.edits
        is_own = edits is known.filter
        if not is_own and state.edits != known.sidecar.state.edits:
            if _problem_of(edits):
                raise StoreFailed(
                    "The topics of this chat were not changed: the choices of its owner can't be "
                    "read. Its owner can choose again."
                )
            shared = _relabelled(replace(FilterState.from_dict(edits.value), edits=state.edits))
            edits = await self._documents.replace(
                chat_id, CHOICES, shared.to_dict(), expected=edits.revision
            )
        own = state if is_own else replace(state, edits=TopicEdits())
        stored = await self._documents.replace(
            chat_id,
            name,
            own.to_dict(),
            expected=known.filter.revision,
            keeps_copy=bool(_problem_of(known.filter)),
        )
        sidecar = replace(known.sidecar, state=state, problem="")
        return replace(known, sidecar=sidecar, filter=stored, edits=stored if is_own else edits)

    async def _written(
        self, chat_id: ChatId, write: Callable[[StoredSidecar], Awaitable[StoredSidecar]]
    ) -> StoredSidecar:
        """Apply `write` to the current content; retry when another process was faster."""
        for _ in range(_ATTEMPTS):
            known = await self._read(chat_id)
            try:
                written = await write(known)
            except Conflict:
                continue
            self._remember(chat_id, written)
            return written
        raise StoreFailed(
            f"Your choice for the chat {chat_id!r} was not stored: another program keeps changing "
            "it. Stop that program and try again."
        )

    async def _read(self, chat_id: ChatId) -> StoredSidecar:
        """The side-car as it is stored now.

        Raises:
            StoreFailed: If the disk refuses.
        """
        key = self._key(chat_id)
        last = self._memory.known.get(key)
        names = document_names(self._person)
        read = await self._documents.read(chat_id, *names, known=last.documents if last else ())
        known = read_sidecar(read, last)
        if self._memory.known.get(key) is last:  # otherwise a newer state was written meanwhile
            self._remember(chat_id, known)
            self._memory.is_current.keep(key, value=True)
            if last is not None and known.sidecar != last.sidecar:
                self._memory.tell_changed_elsewhere(chat_id)
        return known

    def _remember(self, chat_id: ChatId, known: StoredSidecar) -> None:
        key = self._key(chat_id)
        last = self._memory.known.get(key)
        if last is not None and last is not known:
            self._memory.count_change(chat_id)
        self._memory.known[key] = known

    def _warn(self, chat_id: ChatId, error: StoreFailed) -> None:
        key = self._key(chat_id)
        if key not in self._memory.unreadable:
            self._memory.unreadable.add(key)
            self._logger.warning("The choices for chat %s can't be read: %s", chat_id, error)

    def _key(self, chat_id: ChatId) -> _Key:
        return chat_id, self._person


class PeopleSidecars:
    """The side-cars of all who use a vault.

    Args:
        storage: The whole storage.
        on_change: Called after each change of a person's filter.
    """

    def __init__(
        self,
        storage: Storage,
        logger: logging.Logger,
        *,
        on_change: Callable[[PersonId], OnChange],
    ) -> None:
        self._storage = storage
        self._logger = logger
        self._on_change = on_change
        self.memory = SidecarMemory()

    def of(self, person: PersonId) -> Sidecars:
        """One person's side-cars."""
        return Sidecars(
            self._storage.for_person(person).documents,
            self._logger,
            person=person,
            memory=self.memory,
            on_change=self._on_change(person),
        )

    async def picked(self, chat_id: ChatId, person: PersonId) -> frozenset[str]:
        """The topics of a chat picked by a person, and by all whose choices are in memory."""
        labels: set[str] = set()
        for each in {person, *self.memory.people(chat_id)}:
            labels.update((await self.of(each).shown(chat_id)).state.active_topics)
        return frozenset(labels)

    async def check(self, chat_id: ChatId) -> None:
        """Read side-cars that were read before again, to notice changes by other processes."""
        for person in [person for chat, person in [*self.memory.known] if chat == chat_id]:
            await self.of(person).shown(chat_id)
