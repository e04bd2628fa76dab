"""The plugin's part in the host's events: the phases of a turn, and changes of chats."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from smart_context.base.errors import SmartContextError, StoreFailed
from smart_context.base.values import JsonObject, text_in
from smart_context.chat.messages import OFF_PICK, ChatId, MessageId
from smart_context.host.events.events import (
    ChatChanged,
    ChatCopied,
    ChatShown,
    ChatSummed,
    Compacting,
)
from smart_context.host.models import Models
from smart_context.host.turn import Turn
from smart_context.plugin.briefing.briefing import Briefings
from smart_context.plugin.choices.message_topics import TopicName
from smart_context.plugin.choices.sidecars import PeopleSidecars, Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.undo import StepMemory, Summary, UndoStep, UndoSteps
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.notes.context_documents import ContextChanges
from smart_context.plugin.notes.file_tools import FileTools
from smart_context.plugin.receipts.recording import ReceiptRecorder
from smart_context.plugin.selection.chat_filter import ChatFilter, with_selection
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.selection.selector import ContextSelector, protected_ids
from smart_context.plugin.topics.compacting import TopicCompaction
from smart_context.plugin.topics.splitting import CopiedChoices
from smart_context.plugin.topics.updates import RunningExtractions, TopicUpdates
from smart_context.relevance.archive.archive import ChatArchive
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.ports import Chats

IDLE_S = 20.0
WARMED_MESSAGES = 500
WARMED_TOPICS = 16

Latest = Callable[[Hashable, Coroutine[Any, Any, None]], object]
"""Runs work in the background, and cancels earlier work of the same key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHandlers:
    """Handles changes of chats, whoever made them; the attributes are what all people share."""

    chats: Chats
    latest: Latest
    sidecars: PeopleSidecars
    undo: StepMemory
    cache: EmbeddingCache
    archive: ChatArchive
    ledger: TokenLedger
    selector: ContextSelector
    announce: Callable[[ChatId], Coroutine[Any, Any, None]]
    extractions: RunningExtractions
    context_changes: ContextChanges

    async def extracted_elsewhere(self, payload: JsonObject) -> None:
        """Stop finding a chat's topics if another server finds them after a newer turn."""
        chat_id = ChatId(payload["chat_id"])
        if payload["state"] == "running" and self.extractions.is_under_way(chat_id):
            self.latest(("topics", chat_id), asyncio.sleep(0))

    async def chat_changed(self, payload: ChatChanged) -> None:
        """Forget a deleted chat; tell clients what is in context of another."""
        chat_id = ChatId(payload["chat_id"])
        if not await self.chats.exists(chat_id):
            self.sidecars.memory.forget(chat_id)
            self.undo.forget(chat_id)
            self.ledger.forget(chat_id)
            self.selector.forget(chat_id)
            await self.cache.forget(chat_id)
            await self.archive.forget(chat_id)
            return
        self.latest(("announce", chat_id), self.announce(chat_id))

    async def sidecar_changed(self, payload: ChatChanged) -> None:
        """Read a chat's choices that another process has changed."""
        await self.sidecars.check(ChatId(payload["chat_id"]))

    def chosen_elsewhere(self, chat_id: ChatId) -> None:
        """Tell clients about choices for a chat that another process has changed."""
        self.latest(("announce", chat_id), self.announce(chat_id))
        self.context_changes.chat_changed(chat_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHandlers:
    """Handles what one person does; the attributes are the plugin's parts for that person."""

    chats: Chats
    models: Callable[[], Models]
    latest: Latest
    sidecars: Sidecars
    undo: UndoSteps
    cache: EmbeddingCache
    selector: ContextSelector
    chat_filter: ChatFilter
    topics: TopicUpdates
    context_changes: ContextChanges
    files: FileTools
    briefings: Briefings
    receipts: ReceiptRecorder
    belongings: CopiedChoices
    logger: logging.Logger
    compaction: TopicCompaction

    async def narrow_history(self, turn: Turn) -> None:
        """Apply the filter to the turn's history.

        The turn ends if the person's choices can't be read.
        """
        try:
            view = await self.chat_filter.view_before(turn.chat_id, turn.question.id, turn.history)
        except StoreFailed as error:  # the person's hidden messages are unknown
            turn.abort(str(error))
            return
        hidden = frozenset(view.sidecar.state.hidden)
        # Hidden messages stay out even if the decision below fails.
        turn.history = [message for message in turn.history if message.id not in hidden]
        decision = await self.selector.decide(view)
        turn.history = list(decision.messages)
        turn.request = replace(turn.request, protected=protected_ids(view))
        turn.was_cut = decision.is_cut
        settings = self.selector.settings_of(view.sidecar.state)
        self.receipts.decided(turn, view, decision, settings)
        await self._note_said(turn, view)

    async def _note_said(self, turn: Turn, view: ChatView) -> None:
        """Note that the question and its answer are said while topics are picked.

        In another program's chat, all user messages after the last answer belong to the question.
        A question sent off the pick is noted as not about the picked topics instead.
        """
        picked = view.sidecar.state.active_topics
        if not picked:
            return
        is_apart = turn.question.extra.get(OFF_PICK) is True
        ids = {topic.get("label"): text_in(topic.get("id")) for topic in view.topics}
        names = [TopicName(ids.get(label, ""), label) for label in picked]
        asked = takewhile(lambda message: message.role == "user", reversed(view.messages))
        before = [message.id for message in asked] if turn.client else []
        try:
            await self.sidecars.keep_state(turn.chat_id)
            said = [*before, turn.question.id, turn.answer_id]
            await self.sidecars.note_said(turn.chat_id, said, names, is_apart=is_apart)
        except StoreFailed as error:  # the turn goes on, and its question is stored
            self.logger.warning("chat %s: not noted what was picked: %s", turn.chat_id, error)

    async def brief(self, turn: Turn) -> None:
        """Add the chat's role and contexts to the system prompt."""
        state = await self._state_of(turn)
        briefing = await self.briefings.of(turn.chat_id, turn.message, state)
        self.receipts.briefed(turn, turn.system_prompt, briefing)
        turn.system_prompt = briefing.system_prompt(turn.system_prompt)
        turn.request = replace(turn.request, optional_prompt=briefing.attached)
        if turn.client is None:  # another program words its own messages
            turn.message = briefing.message
        if briefing.contexts.problems or briefing.recalls.problem:
            self.context_changes.chat_changed(turn.chat_id)
        await self.sidecars.keep_state(turn.chat_id)
        self.latest(("count tokens", turn.chat_id), self.receipts.count(turn))

    async def offer_files(self, turn: Turn) -> None:
        """Let the model ask for files of the vault."""
        if turn.client is not None:
            return
        state = await self._state_of(turn)
        if tools := await self.files.offered(state, turn.request):
            turn.tools.extend(tools)
            turn.request = replace(turn.request, as_text=self.files.is_fenced)

    async def _state_of(self, turn: Turn) -> FilterState:
        """The choices of a turn: those that decided about its history."""
        decided = self.receipts.state_of(turn)
        return decided or (await self.sidecars.of(turn.chat_id)).state

    async def start_extraction(self, turn: Turn) -> None:
        """Find the chat's topics in the background, at the end of a turn.

        Started together with the answer, it delayed the end of a turn of 10,000 messages by a
        quarter.
        """
        is_aside = turn.client is not None and turn.client.kind == "aside"
        if turn.error or is_aside:
            return
        self.latest(("topics", turn.chat_id), self.topics.update(turn.chat_id))

    async def settle(self, turn: Turn) -> None:
        """Store the receipt and tell clients what is in context now."""
        await self.receipts.store(turn)
        self.latest(("announce", turn.chat_id), self.chat_filter.announce(turn.chat_id))
        self.latest(("fold", turn.chat_id), self._fold_when_idle(turn.chat_id))

    async def _fold_when_idle(self, chat_id: ChatId) -> None:
        """Write a long chat's new vectors to its file once the chat is idle."""
        await asyncio.sleep(IDLE_S)
        await self.cache.fold(chat_id)

    async def version_shown(self, payload: ChatShown) -> None:
        """Give the messages of a version their topics back when it is shown again."""
        chat_id = ChatId(payload["chat_id"])
        self.latest(("topics", chat_id), self.topics.follow_version(chat_id))

    async def _warm(self, view: ChatView) -> None:
        """Embed and load the messages for the first pick, while the user reads the chat.

        Of a long chat only the beginning is embedded, since it may only be opened for reading.
        """
        labels = [str(topic.get("label")) for topic in view.topics if not topic.get("sticky")]
        if len(view.messages) > WARMED_MESSAGES:
            begun = view.messages[:WARMED_MESSAGES]
            view = replace(view, messages=begun, history=begun, more_follow=True)
        await self.selector.decide(with_selection(view, labels[:WARMED_TOPICS]))

    async def chat_summed(self, payload: ChatSummed) -> None:
        """Add the summary to the undo steps, in its order."""
        chat_id, message_id = ChatId(payload["chat_id"]), MessageId(payload["message_id"])
        if not payload["words"]:
            self.undo.drop_summary(chat_id, message_id)
            return
        now = await self.sidecars.of(chat_id)
        summary = Summary(message_id=message_id, words=payload["words"])
        self.undo.push(chat_id, UndoStep(before=now, after=now.state, summary=summary))

    async def chat_compacting(self, payload: Compacting) -> None:
        """With topics picked, sum up only their messages, since no others would be sent."""
        chat_id = ChatId(payload["chat_id"])
        state = (await self.sidecars.of(chat_id)).state
        if not (state.active_topics and self.selector.is_searching(state)):
            return
        try:
            done = await self.compaction.compact_topics(
                chat_id, list(state.active_topics), apply=True
            )
        except SmartContextError as failure:
            payload["refused"] = str(failure)
            return
        names = ("message_id", "tokens_before", "tokens_after")
        told = {name: done[name] for name in names}
        payload["done"] = {"chat_id": chat_id, "summarised": len(done["summed_up"]), **told}

    async def chat_copied(self, payload: ChatCopied) -> None:
        """Give a copied chat the topics, marks and vectors of its messages, and pick its topics."""
        source, target = ChatId(payload["source"]), ChatId(payload["chat_id"])
        ids = {message.id: message.id for message in await self.chats.messages(target)}
        await self.belongings.bring(source, target, ids, picked=payload["topics"])

    async def chat_opened(self, payload: ChatShown) -> None:
        """Prepare for a pick, and find topics if there are none; asks no chat model."""
        chat_id = ChatId(payload["chat_id"])
        view = await self.chat_filter.shown(chat_id)
        if view.topics:
            if self.models().embedder_is_embedded:
                self.latest(("warm", chat_id), self._warm(view))
        elif len(view.messages) > 1 and not self.topics.running.is_running(chat_id):
            grouping = self.topics.update(chat_id, asks_model=False)
            self.latest(("topics", chat_id), grouping)
