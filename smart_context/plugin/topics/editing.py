"""Commands that find and edit topics, set the threshold, and undo the last choice."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.base.results import PanelResult, TopicMapResult
from smart_context.base.text.saying import said
from smart_context.base.text.scores import counted
from smart_context.base.values import JsonObject
from smart_context.base.waiting import waited_for
from smart_context.chat.compaction import without_summary
from smart_context.chat.messages import ChatId, Message, MessageId, without_notices
from smart_context.host.events.events import Emit
from smart_context.plugin.briefing.briefing import ChatContexts
from smart_context.plugin.choices.message_topics import TopicName
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.topic_edits import TopicEdits, checked_label
from smart_context.plugin.choices.undo import (
    Assignment,
    Summary,
    TopicEdit,
    UndoStep,
    UndoSteps,
    difference_in_words,
)
from smart_context.plugin.notes.context_documents import ContextChanges
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.topics.splitting import placed_topics, topic_named
from smart_context.plugin.topics.updates import TOPICS_UPDATED, TopicUpdates, store_topics
from smart_context.storage.ports import Chats
from smart_context.topics.extraction import is_readable
from smart_context.topics.holding import with_held
from smart_context.topics.identity import with_ids
from smart_context.topics.moves import in_order
from smart_context.topics.stored import stored_topics, to_stored
from smart_context.topics.values import Extraction, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicEditing:
    """Edits the topics of chats; later extractions respect the edits."""

    chats: Chats
    sidecars: Sidecars
    steps: UndoSteps
    chat_filter: ChatFilter
    selector: ContextSelector
    emit: Emit
    changes: ContextChanges
    contexts: ChatContexts

    async def rename_topic(self, chat_id: ChatId, label: str, new_label: str) -> PanelResult:
        """Rename a topic, now and in later extractions."""
        return await self._rename(chat_id, [label], new_label)

    async def merge_topics(
        self, chat_id: ChatId, labels: list[str], new_label: str | None = None
    ) -> PanelResult:
        """Merge topics, now and in later extractions, under the first one's name or another."""
        if len(set(labels)) < 2:  # noqa: PLR2004 - a merge needs two
            raise InvalidParams("labels: expected at least two topics to merge")
        return await self._rename(chat_id, labels, new_label or labels[0])

    async def delete_topic(self, chat_id: ChatId, label: str) -> PanelResult:
        """Delete a topic, now and in later extractions."""
        return await self._edit(
            chat_id, lambda edits: edits.delete(label), lambda now: "" if now == label else now
        )

    async def add_topic(self, chat_id: ChatId, label: str, select: bool = False) -> PanelResult:
        """Add a topic of your own; `select` also picks it."""

        def change(state: FilterState) -> FilterState:
            edited = replace(state, edits=state.edits.add(label))
            wanted = (*state.active_topics, checked_label(label)) if select else None
            return edited if wanted is None else edited.switch(enabled=True).select(wanted)

        return await self._change(chat_id, change)

    async def assign(
        self,
        chat_id: ChatId,
        message_ids: list[MessageId],
        topic_id: str | None = None,
        not_topic_id: str | None = None,
    ) -> PanelResult:
        """Say what messages are about, or not about; no extraction changes that.

        Args:
            topic_id: The one topic that they are about, by id or label. Without it they are about
                none of the topics, unless `not_topic_id` is given.
            not_topic_id: A topic that they are not about; they may be about any other.
        """
        messages, others = await self.chats.snapshot(chat_id, "topics")
        known = stored_topics(others.get("topics"), (await self.sidecars.of(chat_id)).topics)
        ids = _checked_ids(message_ids, messages)
        about = None if topic_id is None else topic_named(topic_id, known, "topic_id")
        wrong = None if not_topic_id is None else topic_named(not_topic_id, known, "not_topic_id")
        if about is not None and about is wrong:
            raise InvalidParams("not_topic_id: expected another topic than topic_id")

        def change(state: FilterState) -> FilterState:
            facts = state.edits.messages
            if wrong is not None:
                facts = facts.deny(ids, TopicName(wrong.id, wrong.label))
            if about is not None or wrong is None:
                facts = facts.assign(ids, TopicName(about.id, about.label) if about else None)
            return state.with_messages(facts)

        named = about or wrong
        what = f"{'about' if about else 'not about'} {named.label}" if named else "about no topic"
        words = f"{counted(len(ids), 'message')} {what}"
        return await self._change(chat_id, change, assigned=(frozenset(ids), words))

    async def set_threshold(self, chat_id: ChatId, threshold: float | None = None) -> PanelResult:
        """Set a chat's own threshold; leave it out to use that of the settings."""
        await self.chat_filter.change_state(chat_id, lambda s: s.set_threshold(threshold))
        await self.chat_filter.announce(chat_id)
        return await self.chat_filter.topics(chat_id)

    async def undo(self, chat_id: ChatId) -> Mapping[str, Any]:
        """Undo the last choice in a chat: topics, filter, pins, contexts, recalls, summary."""
        step = self.steps.pop(chat_id)
        words = ""
        if step is not None and step.summary is not None:
            words = "the summary"
            await self._remove_summary(chat_id, step.summary, step)
        elif step is not None:
            before, after = step.before.state, step.after
            words = said(lambda: difference_in_words(after, before), "the last choice")
            stored = await self.chats.exists(chat_id)
            await self._restore(chat_id, step, stored=stored)
            if step.topics is not None and stored:
                await self._store(chat_id, step.topics.undone(await self._known(chat_id)))
            if step.notes:
                await self.contexts.take_out(chat_id, step.notes, step.replaced)
                words = "the notes" if after == before else words
            if step.notes or (after.contexts, after.recalls) != (before.contexts, before.recalls):
                self.changes.chat_changed(chat_id)
            await self.chat_filter.announce(chat_id)
        shown = await self.chat_filter.topics(chat_id)
        done = step.words if step else ""
        return {"undone": words, "undone_words": done, "left": shown["undo_steps"], **shown}

    async def applied(
        self,
        chat_id: ChatId,
        extraction: Extraction,
        messages: Sequence[Message],
        staying: AbstractSet[str] = frozenset(),
    ) -> Extraction:
        """An extraction with the user's edits.

        Args:
            staying: The labels of topics that keep their messages.
        """
        sidecar = await self.sidecars.of(chat_id)
        edits, readable = sidecar.state.edits, [*filter(is_readable, messages)]
        order = [message.id for message in readable]
        if edits == TopicEdits() and not staying:
            return extraction
        found = edits.apply(extraction.topics, order)
        held = edits.held((*sidecar.topics, *found)).with_picked(sidecar.topics, staying)
        about = [i for i in order if i not in extraction.sticky_ids]
        edited = with_held(found, held, about)
        return replace(extraction, topics=await self._counted(chat_id, edited, readable))

    async def _rename(self, chat_id: ChatId, labels: list[str], new_label: str) -> PanelResult:
        return await self._edit(
            chat_id,
            lambda edits: edits.rename(labels, new_label),
            lambda now: checked_label(new_label) if now in labels else now,
        )

    async def _edit(
        self,
        chat_id: ChatId,
        change: Callable[[TopicEdits], TopicEdits],
        relabel: Callable[[str], str],
    ) -> PanelResult:
        def both(state: FilterState) -> FilterState:
            active = dict.fromkeys(relabel(label) for label in state.active_topics)
            active.pop("", None)
            return replace(state, edits=change(state.edits), active_topics=tuple(active))

        return await self._change(chat_id, both)

    async def _change(
        self,
        chat_id: ChatId,
        change: Callable[[FilterState], FilterState],
        *,
        assigned: tuple[frozenset[MessageId], str] | None = None,
    ) -> PanelResult:
        if not await self.chats.exists(chat_id):
            raise CommandFailed("This chat has no messages yet, so it has no topics.")
        messages, others = await self.chats.snapshot(chat_id, "topics")
        before = await self.sidecars.of(chat_id)
        await self.chat_filter.change_state(chat_id, change)
        if (await self.sidecars.of(chat_id)).state != before.state:
            known = stored_topics(others.get("topics"), before.topics)
            edited = await self.applied(chat_id, Extraction(topics=known), messages)
            topics = with_ids(edited.topics, known)
            edit = TopicEdit(before=known, after=topics)
            step = (
                Assignment(before=known, ids=assigned[0], words=assigned[1]) if assigned else edit
            )
            self.steps.amend(chat_id, step)
            await self._store(chat_id, topics)
            await self.chat_filter.announce(chat_id)
        return await self.chat_filter.topics(chat_id)

    async def _restore(self, chat_id: ChatId, step: UndoStep, *, stored: bool) -> None:
        try:
            await self.sidecars.restore(
                chat_id, step.before.state, instead_of=step.after, stored=stored
            )
        except SmartContextError:
            self.steps.push(chat_id, step)
            raise

    async def _remove_summary(self, chat_id: ChatId, summary: Summary, step: UndoStep) -> None:
        """Remove a summary, so that the messages that it replaced are sent again."""

        def remove(document: JsonObject) -> None:
            without_summary(document, summary.message_id)

        try:
            await self.chats.update(chat_id, remove, creates=False)
        except SmartContextError:
            self.steps.push(chat_id, step)
            raise

    async def _store(self, chat_id: ChatId, topics: Sequence[Topic]) -> None:
        def stored(sticky: AbstractSet[MessageId], present: Sequence[Message]) -> list[JsonObject]:
            nonlocal topics
            topics = in_order(topics, [message.id for message in present])
            return to_stored(Extraction(topics=tuple(topics)), sticky, present)

        payload = await store_topics(self.chats, chat_id, stored, keeps_rest=True)
        await self.sidecars.keep_topics(chat_id, topics)
        self.emit(TOPICS_UPDATED, payload)

    async def _known(self, chat_id: ChatId) -> tuple[Topic, ...]:
        public = await self.chats.value(chat_id, "topics")
        return stored_topics(public, (await self.sidecars.of(chat_id)).topics)

    async def _counted(
        self, chat_id: ChatId, topics: Sequence[Topic], messages: Sequence[Message]
    ) -> tuple[Topic, ...]:
        """The topics; those without messages get the number that they would keep by similarity."""
        candidates = without_notices(messages)
        complete: list[Topic] = []
        for topic in topics:
            count = topic.count or await self.selector.count_about(chat_id, candidates, topic.label)
            complete.append(replace(topic, count=count))
        return tuple(complete)


def _checked_ids(
    message_ids: Sequence[MessageId], messages: Sequence[Message]
) -> tuple[MessageId, ...]:
    """The ids, each once.

    Raises:
        InvalidParams: If there are none, or the chat has no message of an id.
    """
    present = {message.id for message in messages}
    ids = tuple(dict.fromkeys(message_ids))
    unknown = next((each for each in ids if each not in present), None)
    if unknown is not None:
        raise InvalidParams(f"message_ids: this chat has no message {unknown[:80]!r}")
    if not ids:
        raise InvalidParams("message_ids: expected at least one message, found none")
    return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionCommands:
    """Starts extractions on demand, and locates topics."""

    topics: TopicUpdates
    chat_filter: ChatFilter
    selector: ContextSelector
    latest: Callable[[Hashable, Coroutine[Any, Any, None]], asyncio.Task[None]]
    settled: Callable[[Hashable], Awaitable[None]]

    async def refresh_topics(
        self, chat_id: ChatId, wait: bool = False, regroup: bool = False
    ) -> Mapping[str, Any]:
        """Find the topics of a chat now, in the background unless asked to wait.

        `regroup` groups the whole chat again; else topics stay, and only new messages join.
        """

        async def update() -> None:
            with waited_for() if wait else nullcontext():
                await self.topics.update(chat_id, regroup=regroup)

        key = ("topics", chat_id)
        self.latest(key, update())
        if wait:
            await self.settled(key)  # a newer extraction, as after a turn, may take its place
            return await self.chat_filter.topics(chat_id)
        return {"state": "running"}

    async def topic_map(self, chat_id: ChatId) -> TopicMapResult:
        """Where each topic is in a chat: the ids of all messages, and places among them."""
        view = await self.chat_filter.shown(chat_id)
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
                for topic in await placed_topics(view, self.selector)
            ],
        }
