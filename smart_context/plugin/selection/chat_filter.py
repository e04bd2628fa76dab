"""The filter of a vault's chats: what the commands and the pipeline ask (contract A8, A9)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.chat.store import ChatStore
from smart_context.errors import InvalidParams
from smart_context.plugin.choices.sidecars import ChatSidecar, Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.selector import ChatView, ContextSelector, Decision
from smart_context.plugin.selection.views import filter_view, topics_view
from smart_context.values import JsonObject

ANNOUNCE_AFTER_S = 0.05
_LOOKS = 5
"""After as many changes in a row the last one of them tells the clients."""

HistoryOf = Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]
"""Builds what the next turn would send, from a chat's messages."""


async def _no_problem(_state: FilterState) -> str:
    return ""


class ChatFilter:
    """Shows and changes the filters of chats, and tells the clients.

    Args:
        chats: Where chats are.
        sidecars: Where the filters' states are kept.
        selector: Decides what is in context.
        history_of: Builds a chat's history.
        emit: Tells the clients.
        undo_steps: How many choices of a chat can be taken back.
        role_problem: Why the role that was chosen can't be used.
    """

    def __init__(
        self,
        *,
        chats: ChatStore,
        sidecars: Sidecars,
        selector: ContextSelector,
        history_of: HistoryOf,
        emit: Callable[[str, JsonObject], None],
        undo_steps: Callable[[ChatId], int] = lambda _chat: 0,
        role_problem: Callable[[FilterState], Awaitable[str]] = _no_problem,
    ) -> None:
        self._chats = chats
        self._sidecars = sidecars
        self._selector = selector
        self._history_of = history_of
        self._emit = emit
        self._undo_steps = undo_steps
        self._role_problem = role_problem

    async def view(self, chat_id: ChatId) -> ChatView:
        """The chat as its next message would find it."""
        stored, others = await self._chats.snapshot(chat_id)
        messages = _finished(stored)
        return ChatView(
            chat_id=chat_id,
            messages=messages,
            history=tuple(await self._history_of(messages)),
            topics=_topics_of(others),
            sidecar=await self._sidecars.of(chat_id),
        )

    async def view_before(
        self, chat_id: ChatId, question: MessageId, history: Sequence[Message]
    ) -> ChatView:
        """The chat as a running turn finds it: what is stored before its question.

        Args:
            chat_id: The chat.
            question: The message that is being sent.
            history: What the turn would send so far.
        """
        stored, others = await self._chats.snapshot(chat_id)
        # The question is among the last, unless an old one is asked again.
        after = (back for back in range(1, len(stored) + 1) if stored[-back].id == question)
        place = len(stored) - next(after, 0)
        return ChatView(
            chat_id=chat_id,
            messages=_finished(stored[:place]),
            history=tuple(history),
            topics=_topics_of(others),
            sidecar=await self._sidecars.of(chat_id),
            more_follow=True,
        )

    async def decide(self, view: ChatView, *, threshold: float | None = None) -> Decision:
        """What is sent, and why."""
        return await self._selector.decide(view, threshold=threshold)

    async def topics(self, chat_id: ChatId) -> JsonObject:
        """The topics and the state of a chat; an unknown chat has none."""
        view = await self.view(chat_id)
        shown = topics_view(view, is_searching=self._selector.is_searching(view.sidecar.state))
        return {**await self._shown(view, await self.decide(view)), **shown}

    async def select(self, chat_id: ChatId, labels: Iterable[str]) -> JsonObject:
        """Select these topics and no others.

        Raises:
            InvalidParams: If a label is empty or too long, or there are too many.
        """
        try:
            return await self._change(chat_id, lambda state: state.select(labels))
        except ValueError as error:
            raise InvalidParams(str(error)) from error

    async def switch(self, chat_id: ChatId, *, enabled: bool) -> JsonObject:
        """Set the similarity switch; off clears the selection."""
        shown = await self._change(chat_id, lambda state: state.switch(enabled=enabled))
        return {"embedding_search": enabled, **shown}

    async def pin(self, chat_id: ChatId, ids: Iterable[str]) -> JsonObject:
        """Force messages in."""
        chosen = [MessageId(i) for i in ids]
        return await self._change(chat_id, lambda state: state.pin(chosen))

    async def hide(self, chat_id: ChatId, ids: Iterable[str]) -> JsonObject:
        """Force messages out."""
        chosen = [MessageId(i) for i in ids]
        return await self._change(chat_id, lambda state: state.hide(chosen))

    async def release(self, chat_id: ChatId, ids: Iterable[str]) -> JsonObject:
        """Neither force them in nor out."""
        chosen = [MessageId(i) for i in ids]
        return await self._change(chat_id, lambda state: state.release(chosen))

    async def announce(self, chat_id: ChatId) -> None:
        """Tell all clients what is in context, in a moment.

        Changes come in bursts, of which the last counts, and a turn's own filter goes first.
        """
        await asyncio.sleep(ANNOUNCE_AFTER_S)
        await self._tell(chat_id)

    async def take_role(
        self, chat_id: ChatId, name: str, targets: Iterable[str] = ()
    ) -> JsonObject:
        """Give a chat a role that shapes its turns; an empty name takes it away.

        Raises:
            ValueError: If there are too many targets.
        """
        return await self._change(chat_id, lambda state: state.take_role(name, targets))

    async def _change(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState]
    ) -> JsonObject:
        stored = await self._chats.exists(chat_id)
        await self._sidecars.change_state(chat_id, change, stored=stored)
        return await self._tell(chat_id)

    async def _shown(self, view: ChatView, decision: Decision) -> JsonObject:
        shown = filter_view(view, decision)
        problems = (shown["problem"], await self._role_problem(view.sidecar.state))
        shown["problem"] = " ".join(filter(None, problems))
        return {**shown, "undo_steps": self._undo_steps(view.chat_id)}

    async def _tell(self, chat_id: ChatId) -> JsonObject:
        """Tell all clients what is in context; gives what they are told.

        To decide can take seconds. What has changed meanwhile is looked at again, so that no event
        is older than the one before it.
        """
        shown: JsonObject = {}
        for _ in range(_LOOKS):
            revision = self._sidecars.revision(chat_id)
            view = await self.view(chat_id)
            shown = await self._shown(view, await self.decide(view))
            stored = await self._chats.messages(chat_id)
            is_current = revision == self._sidecars.revision(chat_id)
            if is_current and _finished(stored) == view.messages:
                searching = self._selector.is_searching(view.sidecar.state)
                event = {"chat_id": chat_id, "embedding_search": searching, **shown}
                self._emit("smart_context.filter_changed", event)
                break
        return shown


def with_state(view: ChatView, labels: Iterable[str]) -> ChatView:
    """The same chat under another selection, for a look that changes nothing.

    Raises:
        InvalidParams: If a label is empty or too long, or there are too many.
    """
    try:
        state = view.sidecar.state.switch(enabled=True).select(labels)
    except ValueError as error:
        raise InvalidParams(str(error)) from error
    sidecar = ChatSidecar(state=state, topics=view.sidecar.topics)
    return ChatView(
        chat_id=view.chat_id,
        messages=view.messages,
        history=view.history,
        topics=view.topics,
        sidecar=sidecar,
    )


def _finished(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Without those that are still being written, of which there is seldom one."""
    if any(message.generating for message in messages):
        return tuple(message for message in messages if not message.generating)
    return messages


def _topics_of(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    topics = document.get("topics")
    if not isinstance(topics, list):
        return ()
    return tuple(topic for topic in topics if isinstance(topic, Mapping))
