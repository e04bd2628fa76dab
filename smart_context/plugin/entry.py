"""The plugin as the host sees it: wires its parts and registers hooks, commands and the panel."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.commands.registry import Client
from smart_context.host.plugins.api import PluginContext
from smart_context.host.turn import Turn
from smart_context.llm.models import Embedder
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.briefing.briefing import Briefings
from smart_context.plugin.briefing.chat_contexts import ChatContexts
from smart_context.plugin.briefing.chat_roles import ChatRoles, role_problem
from smart_context.plugin.briefing.role_sources import RoleSources
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.undo import Step, UndoSteps
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import Looks
from smart_context.plugin.forecast.plans import Requests
from smart_context.plugin.forecast.previews import Previews
from smart_context.plugin.notes.file_tools import FileTools
from smart_context.plugin.notes.named_contexts import CHANGED, Command, NamedContexts
from smart_context.plugin.notes.suggestions import Suggestions
from smart_context.plugin.notes.vault_notes import VaultNotes
from smart_context.plugin.receipts.commands import Receipts
from smart_context.plugin.receipts.replay import Replays
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.selector import ContextSelector, protected_ids
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings
from smart_context.plugin.topics.editing import TopicEditing
from smart_context.plugin.topics.updates import TopicUpdates
from smart_context.relevance.cache import EmbeddingCache
from smart_context.relevance.fitting import stored_scale
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import LlmTopicExtractor, TopicExtractor
from smart_context.values import JsonObject
from smart_context.vault.index.cache import VaultChanges

DRAFT_ID = MessageId("draft")

IDLE_S = 20.0


class SmartContextPlugin:
    """Topics of a chat as a filter on what the model is given (seed 002)."""

    async def on_load(self, context: PluginContext) -> None:
        """Register everything; the host undoes it when the plugin stops."""
        self._context = context
        settings = FilterSettings.from_mapping(context.settings)
        self._undo = UndoSteps()
        self._sidecars = Sidecars(
            context.chats.place,
            context.logger,
            on_change=lambda chat_id, before, after: self._undo.push(
                chat_id, Step(before=before, after=after)
            ),
            on_news=self._chosen_elsewhere,
        )
        self._cache = EmbeddingCache(
            lambda chat_id: context.chats.place(chat_id, "embeddings.json"),
            context.models.embedder,
        )
        embedding_model = context.models.embedder.name
        scale = await asyncio.to_thread(stored_scale, context.chats.home, embedding_model)
        budget = WindowBudget(
            window=lambda: context.requests.window, contexts=settings.context_budget_tokens
        )
        self._selector = selector = ContextSelector(
            RelevanceScorer(self._cache, mode=settings.relevance, scale=scale),
            settings,
            context.logger,
            budget,
        )
        role_sources = RoleSources(context.trust, lambda: context.user_roles)
        self._filter = ChatFilter(
            chats=context.chats,
            sidecars=self._sidecars,
            selector=selector,
            history_of=self._history_of,
            emit=context.emit,
            undo_steps=self._undo.count,
            role_problem=lambda state: role_problem(role_sources, state),
        )
        self._editing = TopicEditing(
            chats=context.chats,
            sidecars=self._sidecars,
            undo=self._undo,
            chat_filter=self._filter,
            selector=selector,
            emit=self._emit,
        )
        self._topics = TopicUpdates(
            chats=context.chats,
            sidecars=self._sidecars,
            extractor=self._extractor,
            cache=self._cache,
            emit=context.emit,
            announce=self._filter.announce,
            edited=self._editing.applied,
        )
        self._notes = VaultNotes(context.notes, on_change=self._notes_changed)
        self._named = NamedContexts(
            self._notes,
            emit=self._emit,
            count_tokens=self._count_tokens,
            settings=settings,
        )
        self._attached = ChatContexts(
            notes=self._notes,
            chats=context.chats,
            sidecars=self._sidecars,
            emit=self._emit,
            budget=settings.context_budget_tokens,
            within=budget.for_contexts,
            count_tokens=self._count_tokens,
            logger=context.logger,
        )
        self._roles = ChatRoles(
            root=context.vault,
            without=context.notes.without,
            sources=role_sources,
            sidecars=self._sidecars,
            chat_filter=self._filter,
            within=budget.for_role,
            model=lambda: context.models.chat.name,
            count_tokens=self._count_tokens,
            logger=context.logger,
        )
        self._briefings = Briefings(
            sidecars=self._sidecars,
            roles=self._roles,
            contexts=self._attached,
            child=context.child,
        )
        self._suggestions = Suggestions(
            vault=context.notes,
            embedder=context.models.embedder,
            view_of=self._filter.view,
            run=context.latest,
        )
        self._file_tools = settings.file_tools
        self._files = FileTools(
            context.vault,
            without=context.notes.without,
            nearest=context.notes.find,
            attachments=context.files,
        )
        self._settings = settings
        self._show_and_keep(context)
        self._register(context)

    def _show_and_keep(self, context: PluginContext) -> None:
        """Make the parts that show what will be sent, and keep what was."""
        requests = Requests(
            context,
            tools=lambda: self._files.for_turn() if self._offers_files else (),
            is_fenced=lambda: self._offers_files and self._file_tools == "fenced",
        )
        self._ledger = TokenLedger(self._count_tokens)
        self._looks = Looks(
            chats=context.chats,
            sidecars=self._sidecars,
            chat_filter=self._filter,
            briefings=self._briefings,
            ledger=self._ledger,
            count_tokens=self._count_tokens,
        )
        self._previews = Previews(
            self._looks,
            self._briefings,
            count_tokens=self._count_tokens,
            model=lambda: context.models.chat.name,
            window=lambda: context.requests.window,
            ask_above=self._settings.ask_above_tokens,
            draft=context.requests.draft,
            plan=requests.planned,
        )
        self._receipts = Receipts(
            chats=context.chats,
            looks=self._looks,
            replays=Replays(
                chats=context.chats,
                chat_filter=self._filter,
                selector=self._selector,
                briefings=self._briefings,
                build_history=context.build_history,
                plan=requests.planned,
            ),
            models=lambda: self._context.models,
            emit=self._emit,
            logger=context.logger,
        )

    async def on_client_connected(self, client: Client) -> None:
        """Nothing to tell yet: the host shows the panel, and the page asks for its chat."""

    async def on_unload(self) -> None:
        """Write what is pending."""
        await self._cache.close()
        self._notes.close()

    def _register(self, context: PluginContext) -> None:
        context.subscribe("pipeline.context", self._narrow_history)
        context.subscribe("pipeline.prompt", self._brief)
        context.subscribe("pipeline.prompt", self._offer_files)
        context.subscribe("pipeline.output", self._start_extraction)
        context.subscribe("pipeline.end", self._settle)
        context.subscribe("memory.chat_changed", self._chat_changed)
        context.subscribe("memory.sidecar_changed", self._sidecar_changed)
        context.subscribe("chat.opened", self._chat_opened)
        own = (
            *(self.set_filter, self.get_topics, self.set_similarity_mode, self.refresh_topics),
            *(self.pin, self.hide, self.release),
        )
        commands: tuple[Command, ...] = (
            *own,
            *self._named.commands(),
            *self._attached.commands(),
            *self._roles.commands(),
            *self._suggestions.commands(),
            *self._editing.commands(),
            *self._previews.commands(),
            *self._receipts.commands(),
        )
        for command in commands:
            context.register_command(f"smart_context.{command.__name__}", command)
        context.register_panel()

    # Hooks of the pipeline

    async def _narrow_history(self, turn: Turn) -> None:
        view = await self._filter.view_before(turn.chat_id, turn.question.id, turn.history)
        decision = await self._filter.decide(view)
        turn.history = list(decision.messages)
        turn.request = replace(turn.request, protected=protected_ids(view))
        turn.was_cut = decision.is_cut
        settings = self._selector.settings_of(view.sidecar.state)
        self._receipts.decided(turn, view, decision, settings)

    async def _brief(self, turn: Turn) -> None:
        briefing = await self._briefings.of(turn.chat_id, turn.message)
        self._receipts.briefed(turn, turn.system_prompt, briefing)
        turn.system_prompt = briefing.system_prompt(turn.system_prompt)
        optional = briefing.contexts.prompt.text
        turn.request = replace(turn.request, optional_prompt=optional)
        turn.message = briefing.message
        if briefing.contexts.problems:
            self._attached.announce(turn.chat_id)
        await self._sidecars.keep_state(turn.chat_id)
        self._context.latest(("weigh", turn.chat_id), self._receipts.weigh(turn))

    async def _offer_files(self, turn: Turn) -> None:
        if self._offers_files:
            turn.tools.extend(self._files.for_turn())
            turn.request = replace(turn.request, as_text=self._file_tools == "fenced")

    def _notes_changed(self, changes: VaultChanges) -> None:
        has_other_files = bool(changes.added or changes.removed)
        self._emit(CHANGED, {"notes_changed": True, "has_other_files": has_other_files})

    async def _start_extraction(self, turn: Turn) -> None:
        self._context.latest(("topics", turn.chat_id), self._topics.update(turn.chat_id))

    async def _settle(self, turn: Turn) -> None:
        await self._receipts.keep(turn)
        self._context.latest(("announce", turn.chat_id), self._filter.announce(turn.chat_id))
        self._context.latest(("fold", turn.chat_id), self._fold_when_idle(turn.chat_id))

    async def _fold_when_idle(self, chat_id: ChatId) -> None:
        """Put a long chat's new vectors into its file once nobody has written for a while."""
        await asyncio.sleep(IDLE_S)
        await self._cache.fold(chat_id)

    async def _chat_changed(self, payload: Mapping[str, Any]) -> None:
        chat_id = ChatId(payload["chat_id"])
        if not await self._context.chats.exists(chat_id):
            self._sidecars.forget(chat_id)
            self._undo.forget(chat_id)
            self._ledger.forget(chat_id)
            await self._cache.forget(chat_id)
            return
        self._context.latest(("announce", chat_id), self._filter.announce(chat_id))

    async def _sidecar_changed(self, payload: Mapping[str, Any]) -> None:
        await self._sidecars.look(ChatId(payload["chat_id"]))

    def _chosen_elsewhere(self, chat_id: ChatId) -> None:
        """Another process has changed what was chosen for a chat."""
        self._context.latest(("announce", chat_id), self._filter.announce(chat_id))
        self._attached.announce(chat_id)

    async def _chat_opened(self, payload: Mapping[str, Any]) -> None:
        """A chat without topics, opened: the embedded extractor costs nothing, so it is asked."""
        chat_id = ChatId(payload["chat_id"])
        if self._context.models.fast is not None:
            return
        view = await self._filter.view(chat_id)
        if len(view.messages) > 1 and not view.topics:
            self._context.latest(("topics", chat_id), self._topics.update(chat_id))

    # Commands

    async def set_filter(self, chat_id: str, topics: list[str]) -> JsonObject:
        """Select topics, by label; an empty list clears the filter."""
        return await self._filter.select(check_chat_id(chat_id), topics)

    async def get_topics(self, chat_id: str) -> JsonObject:
        """The topics of a chat, what is selected, and what is in context."""
        return await self._filter.topics(check_chat_id(chat_id))

    async def set_similarity_mode(self, chat_id: str, enabled: bool) -> JsonObject:
        """Turn the similarity search of a chat on or off; off clears the selection."""
        return await self._filter.switch(check_chat_id(chat_id), enabled=enabled)

    async def refresh_topics(self, chat_id: str, wait: bool = False) -> JsonObject:
        """Find the topics of a chat now, in the background unless asked to wait."""
        checked = check_chat_id(chat_id)
        task = self._context.latest(("topics", checked), self._topics.update(checked))
        if wait:
            await task
            return await self._filter.topics(checked)
        return {"state": "running"}

    async def pin(self, chat_id: str, message_ids: list[str]) -> JsonObject:
        """Keep messages in context, whatever the filter says."""
        return await self._filter.pin(check_chat_id(chat_id), message_ids)

    async def hide(self, chat_id: str, message_ids: list[str]) -> JsonObject:
        """Keep messages out of context, whatever the filter says."""
        return await self._filter.hide(check_chat_id(chat_id), message_ids)

    async def release(self, chat_id: str, message_ids: list[str]) -> JsonObject:
        """Let the filter decide about messages again."""
        return await self._filter.release(check_chat_id(chat_id), message_ids)

    # What the parts need of the host

    def _emit(self, event: str, payload: JsonObject) -> None:
        if event == CHANGED:
            self._looks.forget_contexts()
        self._context.emit(event, payload)

    @property
    def _offers_files(self) -> bool:
        return self._file_tools != "off" and not self._context.models.chat_is_embedded

    async def _history_of(self, messages: Sequence[Message]) -> Sequence[Message]:
        """What the next turn would send: built as for a message that is about to be written."""
        draft = Message(id=DRAFT_ID, role="user", content="…")
        built = await self._context.build_history((*messages, draft))
        return [message for message in built if message.id != DRAFT_ID]

    def _extractor(self, embedder: Embedder) -> TopicExtractor:
        fast = self._context.models.fast
        return EmbeddedTopicExtractor(embedder) if fast is None else LlmTopicExtractor(fast)

    def _count_tokens(self, text: str) -> int:
        return count_tokens(text, self._context.models.chat.name)
