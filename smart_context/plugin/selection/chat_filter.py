"""The filters of a vault's chats: a chat as the filter sees it, and changes of its state."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.errors import InvalidParams
from smart_context.base.lookups import one_request
from smart_context.base.results import CostResult, FilterResult, PanelResult
from smart_context.base.threads import MANY_MESSAGES, beside, give_way
from smart_context.base.values import PersonId
from smart_context.chat.clients import client_history, is_of_client
from smart_context.chat.messages import HELD, SOURCE, ChatId, Message, MessageId
from smart_context.host.events.events import Emit, Event
from smart_context.host.models import MODEL, choice_in, chosen
from smart_context.plugin.choices.sidecars import ChatSidecar, Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.undo import UndoPreview
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.documents import filter_result
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.storage.ports import Chats
from smart_context.topics.stored import counting, not_counting, public_topics

ANNOUNCE_AFTER_S = 0.05
FILTER_CHANGED: Event[Any] = Event("smart_context.filter_changed", each_finds=True)
"""Event: the messages of a chat that are in context have changed; as `set_filter` returns them."""

_ATTEMPTS = 5
"""Maximum attempts to decide while changes keep coming; the last change announces the filter."""

_READ = ("topics", SOURCE, HELD, MODEL)
"""The keys of a chat's document that the filter depends on."""

_TOPICS_READ_AT_ONCE = 5_000

_NEXT_MESSAGE = Message(id=MessageId("draft"), role="user", content="…")

CostOf = Callable[[ChatView, Decision], Awaitable[CostResult]]
"""Gives the cost of the next request."""

BuildHistory = Callable[[Sequence[Message]], Awaitable[list[Message]]]
"""Builds the history that a turn would send from stored messages, the last being its question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFilter:
    """Shows and changes one person's filters of chats, and tells the clients."""

    person: PersonId
    chats: Chats
    sidecars: Sidecars
    selector: ContextSelector
    build_history: BuildHistory
    emit: Emit
    undoable: Callable[[ChatId], UndoPreview]
    # gives the reason why the chosen role can't be used; empty if it can
    role_problem: Callable[[FilterState], Awaitable[str]]
    cost_of: CostOf  # gives the cost of the next request, which each announcement tells
    # tells the clients of all who use a chat which of their messages are in context
    announce: Callable[[ChatId], Coroutine[Any, Any, None]]

    async def view(self, chat_id: ChatId) -> ChatView:
        """The chat in its current state, as the next turn would find it.

        Raises:
            StoreFailed: If the person's choices for it can't be read.
        """
        return await self._view(chat_id, await self.sidecars.of(chat_id))

    async def shown(self, chat_id: ChatId) -> ChatView:
        """The chat like `view`, but for display: also if the person's choices can't be read."""
        return await self._view(chat_id, await self.sidecars.shown(chat_id))

    async def _view(self, chat_id: ChatId, sidecar: ChatSidecar) -> ChatView:
        stored, others = await self.chats.snapshot(chat_id, *_READ)
        messages, model = _finished(stored), choice_in(others)
        with chosen(model):  # its window limits the history
            history = await self.history(messages, of_client=is_of_client(others))
        topics, more_topics = await _topics_of(others)
        await give_way()
        return ChatView(
            chat_id=chat_id,
            messages=messages,
            history=history,
            topics=topics,
            more_topics=more_topics,
            sidecar=sidecar,
            is_of_client=is_of_client(others),
            is_held=others.get(HELD) is True,
            model=model,
        )

    async def history(self, messages: Sequence[Message], *, of_client: bool) -> tuple[Message, ...]:
        """The stored messages that the next request would send without a filter."""
        if of_client:
            return await client_history(messages)
        built = await self.build_history((*messages, _NEXT_MESSAGE))
        return tuple([message for message in built if message.id != _NEXT_MESSAGE.id])

    async def view_before(
        self, chat_id: ChatId, question: MessageId, history: Sequence[Message]
    ) -> ChatView:
        """The chat as a running turn finds it: the messages stored before its question.

        Args:
            history: The history that the turn would send so far.

        Raises:
            StoreFailed: If the person's choices for it can't be read.
        """
        stored, others = await self.chats.snapshot(chat_id, *_READ)
        ids = [message.id for message in stored]
        place = ids.index(question) if question in ids else len(ids)
        topics, _ = await _topics_of(others)
        return ChatView(
            chat_id=chat_id,
            messages=_finished(stored[:place]),
            history=tuple(history),
            topics=topics,
            sidecar=await self.sidecars.of(chat_id),
            more_follow=True,
            is_of_client=is_of_client(others),
        )

    async def topics(self, chat_id: ChatId) -> PanelResult:
        """The topics and the filter of a chat; an unknown chat has no topics."""
        view = await self.shown(chat_id)
        return {
            **await self._result(view, await self.selector.decide(view)),
            "topics": public_topics(view.topics),
            "embedding_search": self.selector.is_searching(view.sidecar.state),
        }

    async def change(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState]
    ) -> FilterResult:
        """Change a person's state in a chat, and tell their clients the new filter result.

        Raises:
            InvalidParams: If the change refuses a value.
        """
        await self.change_state(chat_id, change)
        return await self.announce_now(chat_id)

    async def change_state(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState]
    ) -> None:
        """Change a chat's state without telling clients.

        Raises:
            InvalidParams: If the change refuses a value.
        """
        stored = await self.chats.exists(chat_id)
        try:
            await self.sidecars.change_state(chat_id, change, stored=stored)
        except ValueError as error:
            raise InvalidParams(str(error)) from error

    async def _result(self, view: ChatView, decision: Decision) -> FilterResult:
        role_problem = await self.role_problem(view.sidecar.state)
        undoable = self.undoable(view.chat_id)
        return await beside(
            lambda: filter_result(view, decision, role_problem=role_problem, undoable=undoable),
            is_long=len(view.messages) > MANY_MESSAGES,
        )

    async def announce_now(self, chat_id: ChatId) -> FilterResult:
        """Tell the person's clients which messages are in context; returns the same result.

        Deciding can take seconds. If something has changed meanwhile, decide again, so that no
        event is older than the previous one.
        """
        attempts = 0
        while True:
            attempts += 1
            revision = self.sidecars.revision(chat_id)
            view = await self.shown(chat_id)
            with chosen(view.model):  # the previous turn may have asked another model
                decision = await self.selector.decide(view)
                result = await self._result(view, decision)
                result["cost"] = await self.cost_of(view, decision)
            stored = await self.chats.messages(chat_id)
            has_changed = revision != self.sidecars.revision(chat_id)
            is_current = not has_changed and _finished(stored) == view.messages
            if is_current:
                searching = self.selector.is_searching(view.sidecar.state)
                event = {"chat_id": chat_id, "embedding_search": searching, **result}
                self.emit(FILTER_CHANGED, event, self.person)
            if is_current or attempts == _ATTEMPTS:
                return result


@dataclass(frozen=True, slots=True)
class FilterAnnouncements:
    """Tells the clients of all who use a chat which of their messages are in context."""

    people: Callable[[ChatId], Sequence[PersonId]]  # gives those whose choices are in memory
    filter_of: Callable[[PersonId], ChatFilter]

    async def announce(self, chat_id: ChatId) -> None:
        """Tell all people's clients, after a short delay.

        The delay is for bursts of changes, of which only the last counts, and for a turn's own
        filter, which goes first.
        """
        await asyncio.sleep(ANNOUNCE_AFTER_S)
        for person in self.people(chat_id):
            with one_request():
                await self.filter_of(person).announce_now(chat_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCommands:
    """The filter's commands."""

    chat_filter: ChatFilter

    async def set_filter(self, chat_id: ChatId, topics: list[str]) -> FilterResult:
        """Select topics, by label; an empty list clears the filter."""
        return await self.chat_filter.change(chat_id, lambda s: s.select(topics))

    async def get_topics(self, chat_id: ChatId) -> PanelResult:
        """The topics of a chat, the selected ones, and what is in context."""
        return await self.chat_filter.topics(chat_id)

    async def suggest_topics(self, chat_id: ChatId, message: str) -> Mapping[str, Any]:
        """The topics that a message which is being written is clearly about; changes nothing.

        `off_pick` is true if it is clearly about `elsewhere`, which is not picked.
        """
        view = await self.chat_filter.view(chat_id)
        meant = await self.chat_filter.selector.topics_about(view, message)
        topic = meant.elsewhere
        elsewhere = topic and {"id": topic.id, "label": topic.label, "count": topic.count}
        return {
            "topics": list(meant.topics),
            "off_pick": topic is not None,
            "elsewhere": elsewhere,
        }

    async def set_similarity_mode(self, chat_id: ChatId, enabled: bool) -> Mapping[str, Any]:
        """Turn the similarity search of a chat on or off; off clears the selection."""
        shown = await self.chat_filter.change(chat_id, lambda s: s.switch(enabled=enabled))
        return {"embedding_search": enabled, **shown}

    async def pin(self, chat_id: ChatId, message_ids: list[MessageId]) -> FilterResult:
        """Keep messages in context, whatever the filter says."""
        return await self.chat_filter.change(chat_id, lambda s: s.pin(message_ids))

    async def hide(self, chat_id: ChatId, message_ids: list[MessageId]) -> FilterResult:
        """Keep messages out of context, whatever the filter says."""
        return await self.chat_filter.change(chat_id, lambda s: s.hide(message_ids))

    async def release(self, chat_id: ChatId, message_ids: list[MessageId]) -> FilterResult:
        """Let the filter decide about messages again."""
        return await self.chat_filter.change(chat_id, lambda s: s.release(message_ids))

    async def set_file_tools(self, chat_id: ChatId, on: bool) -> Mapping[str, Any]:
        """Let the model read files of the vault in a chat, or don't."""
        shown = await self.chat_filter.change(chat_id, lambda s: s.offer_files(on=on))
        return {"file_tools": on, **shown}


def with_selection(view: ChatView, labels: Iterable[str]) -> ChatView:
    """The same chat with other topics selected; stores nothing.

    Raises:
        InvalidParams: If a label is empty or too long, or there are too many.
    """
    try:
        state = view.sidecar.state.switch(enabled=True).select(labels)
    except ValueError as error:
        raise InvalidParams(str(error)) from error
    return replace(view, sidecar=replace(view.sidecar, state=state))


def _finished(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages without those that are still being written."""
    if True in [message.generating for message in messages]:  # rare, so usually nothing is copied
        return tuple(message for message in messages if not message.generating)
    return messages


async def _topics_of(document: Mapping[str, Any]) -> tuple[tuple[Mapping[str, Any], ...], int]:
    """The topics of a document that count, and the number of others; very many: in a thread."""
    stored = document.get("topics")

    def read() -> tuple[tuple[Mapping[str, Any], ...], int]:
        return tuple(counting(stored)), len(not_counting(stored))

    is_long = isinstance(stored, list) and len(stored) > _TOPICS_READ_AT_ONCE
    return await beside(read, is_long=is_long)
