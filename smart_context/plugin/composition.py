"""Builds the plugin's parts, each from the parts that it needs."""

import asyncio
from collections.abc import Iterator, Mapping
from functools import cached_property, partial

from smart_context.chat.messages import ChatId
from smart_context.host.cluster import ELSEWHERE
from smart_context.host.commands.registry import Client, CommandHandler
from smart_context.host.events.events import (
    CHAT_CHANGED,
    CHAT_COMPACTING,
    CHAT_COPIED,
    CHAT_OPENED,
    CHAT_SUMMED,
    CHAT_VERSION_SHOWN,
    PIPELINE_CONTEXT,
    PIPELINE_END,
    PIPELINE_PROMPT,
    PIPELINE_START,
    SIDECAR_CHANGED,
)
from smart_context.host.plugins.api import PluginContext
from smart_context.llm.models import Embedder
from smart_context.packing.role_sources import RoleSources
from smart_context.plugin.atlas.atlases import Atlases
from smart_context.plugin.atlas.commands import AtlasCommands, BackgroundExtraction
from smart_context.plugin.briefing.briefing import Briefings, ChatContexts
from smart_context.plugin.briefing.chat_recalls import ChatRecalls
from smart_context.plugin.briefing.chat_roles import ChatRoles, RolePacking, role_problem
from smart_context.plugin.briefing.recall_sources import RecalledMessages, RecallSources
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.undo import UndoSteps
from smart_context.plugin.forecast.commands import PreviewCommands, RequestCosts
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import Forecasts
from smart_context.plugin.forecast.plan import RequestPlanner
from smart_context.plugin.hooks import TurnHandlers
from smart_context.plugin.notes.context_documents import ContextChanges
from smart_context.plugin.notes.file_tools import FileTools
from smart_context.plugin.notes.named_contexts import NamedContexts, Suggestions
from smart_context.plugin.notes.vault_notes import VaultNotes
from smart_context.plugin.receipts.commands import ReceiptCommands, Replays
from smart_context.plugin.receipts.comparing import Comparisons
from smart_context.plugin.receipts.recording import ReceiptRecorder
from smart_context.plugin.receipts.stored import StoredReceipts
from smart_context.plugin.selection.chat_filter import ChatFilter, FilterCommands
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings, ModelInUse
from smart_context.plugin.topics.compacting import TopicCompaction
from smart_context.plugin.topics.editing import ExtractionCommands, TopicEditing
from smart_context.plugin.topics.splitting import CopiedChoices, Splitting, keep_similar
from smart_context.plugin.topics.updates import EXTRACTION, TOPICS_UPDATED, TopicUpdates
from smart_context.relevance.archive.archive import ChatArchive
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.fitting import stored_judge, stored_scale
from smart_context.relevance.judge.judging import Judge
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.guarded.storage import PersonalContexts
from smart_context.topics.clusters.keywords import Keywords
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import TopicJudge
from smart_context.topics.judging import ModelTopicJudge, Pace


async def compose(context: PluginContext) -> "_PluginParts":
    """Build the plugin's parts; each is built when it is first needed."""
    documents, embedder = context.storage.vault_documents, context.models.embedder
    parts = _PluginParts(
        context,
        scale=await asyncio.to_thread(stored_scale, documents, embedder.name),
        judge=await asyncio.to_thread(stored_judge, documents, embedder.name),
    )
    parts.changes.listen(parts.forecasts.forget_briefings)
    parts.chat_filter.tell_costs(parts.costs.of)
    parts.sidecars.on_changed_elsewhere(parts.hooks.chosen_elsewhere)
    return parts


class _PluginParts:
    """Each part of the plugin, by the name that other parts use for it.

    Everything else comes from the host's context.
    """

    def __init__(self, context: PluginContext, *, scale: Scale | None, judge: Judge | None) -> None:
        self.context = context
        self.settings = FilterSettings.from_mapping(context.settings)
        self.model = ModelInUse(context)
        self.stored_receipts = StoredReceipts(context.storage.logs, context.logger)
        self.undo = UndoSteps()
        self.sidecars = Sidecars(context.documents, context.logger, on_change=self.undo.record)
        self.cache = EmbeddingCache(context.storage.vectors, context.models.embedder)
        self.archive = ChatArchive(
            context.chats, context.storage.vectors, context.storage.caches, self.cache, scale=scale
        )
        self.budget = WindowBudget(
            window=self.model.window, contexts=self.settings.context_budget_tokens
        )
        scorer = RelevanceScorer(self.cache, mode=self.settings.relevance, scale=scale, judge=judge)
        self.selector = ContextSelector(scorer, self.settings, context.logger, self.budget)
        self.count_tokens = self.model.count_tokens
        self.ledger = TokenLedger(self.model.counter)
        self.role_sources = RoleSources(context.trust, lambda: context.user_roles)
        self.changes = ContextChanges(context.emit)
        self.notes = VaultNotes(
            context.notes, context.storage.vault_documents, on_change=self.changes.notes_changed
        )

    # The content of requests: the filter, and the parts that go with the messages

    @cached_property
    def planner(self) -> RequestPlanner:
        notes, context = self.context.notes, self.context
        files = FileTools(
            root=context.vault,
            without=notes.without,
            nearest=notes.find,
            attached=context.files.read,
            mode=self.settings.file_tools,
            models=self.model.models,
        )
        return RequestPlanner(context, files)

    @cached_property
    def chat_filter(self) -> ChatFilter:
        return ChatFilter(
            chats=self.context.chats,
            sidecars=self.sidecars,
            selector=self.selector,
            build_history=self.context.build_history,
            emit=self.context.emit,
            undoable=self.undo.undoable,
            role_problem=partial(role_problem, self.role_sources),
        )

    @cached_property
    def contexts(self) -> ChatContexts:
        return ChatContexts(
            notes=self.notes,
            chat_filter=self.chat_filter,
            sidecars=self.sidecars,
            changes=self.changes,
            budget=self.settings.context_budget_tokens,
            within=self.budget.for_contexts,
            model=self.model,
            logger=self.context.logger,
            steps=self.undo,
        )

    @cached_property
    def roles(self) -> ChatRoles:
        sources, without = self.role_sources, self.context.notes.without
        packing = RolePacking(self.context.vault, without, sources)
        return ChatRoles(
            sources=sources,
            packing=packing,
            sidecars=self.sidecars,
            chat_filter=self.chat_filter,
            within=self.budget.for_role,
            model=self.model,
            logger=self.context.logger,
        )

    @cached_property
    def recalls(self) -> ChatRecalls:
        messages = RecalledMessages(
            chats=self.context.chats,
            sidecars=self.sidecars,
            access=self.context.access,
            logger=self.context.logger,
        )
        sources = RecallSources(
            messages=messages,
            chat_filter=self.chat_filter,
            selector=self.selector,
            archive=self.archive,
            topic_of_all=self.atlas.named_messages,
            count_tokens=self.count_tokens,
        )
        return ChatRecalls(
            sources=sources,
            messages=messages,
            chat_filter=self.chat_filter,
            sidecars=self.sidecars,
            changes=self.changes,
            within=self.budget.for_contexts,
            model=self.model,
            logger=self.context.logger,
        )

    @cached_property
    def briefings(self) -> Briefings:
        return Briefings(
            chats=self.context.chats,
            general=lambda: self.context.instructions,
            model=self.model,
            roles=self.roles,
            contexts=self.contexts,
            recalls=self.recalls,
            child=self.context.child,
        )

    # Topics of a chat, and of all chats

    @cached_property
    def editing(self) -> TopicEditing:
        return TopicEditing(
            chats=self.context.chats,
            sidecars=self.sidecars,
            steps=self.undo,
            chat_filter=self.chat_filter,
            selector=self.selector,
            emit=self.context.emit,
            changes=self.changes,
            contexts=self.contexts,
        )

    @cached_property
    def topics(self) -> TopicUpdates:
        keywords, pace = Keywords(), Pace()

        def judge(embedder: Embedder) -> TopicJudge | None:
            fast = self.context.models.fast
            return None if fast is None else ModelTopicJudge(fast, embedder, pace)

        return TopicUpdates(
            chats=self.context.chats,
            sidecars=self.sidecars,
            extractor=lambda embedder: EmbeddedTopicExtractor(embedder, keywords),
            judge=judge,
            cache=self.cache,
            emit=self.context.emit,
            announce=self.chat_filter.announce,
            edited=self.editing.applied,
            steps=self.undo,
            sent_topics=self.stored_receipts.topics,
            leases=self.context.storage.leases,
            keep_similar=self._keep_similar,
        )

    async def _keep_similar(self, chat_id: ChatId) -> bool:
        """Give topics without messages those that are similar, and tell the clients of that."""
        told = await keep_similar(chat_id, self.chat_filter, self.selector, self.sidecars)
        if told is not None:
            self.context.emit(TOPICS_UPDATED, told)
        return told is not None

    @cached_property
    def belongings(self) -> CopiedChoices:
        return CopiedChoices(chats=self.context.chats, sidecars=self.sidecars, cache=self.cache)

    @cached_property
    def atlases(self) -> Atlases:
        return Atlases(
            storage=self.context.storage,
            embedder=self.context.models.embedder,
            cache=self.cache,
            emit=self.context.emit,
            logger=self.context.logger,
        )

    @cached_property
    def background(self) -> BackgroundExtraction:
        offline = self.settings.atlas_extraction == "embedded"

        async def find(chat_id: ChatId) -> None:
            if not await self._keep_similar(chat_id):
                await self.topics.find_unseen(chat_id, offline=offline)

        return BackgroundExtraction(
            atlases=self.atlases,
            extract=find,
            is_running=self.topics.is_running,
            latest=self.context.latest,
            logger=self.context.logger,
        )

    @cached_property
    def atlas(self) -> AtlasCommands:
        return AtlasCommands(
            atlases=self.atlases,
            chats=self.context.chats,
            cache=self.cache,
            count_tokens=self.count_tokens,
            background=self.background,
            spawn=self.context.spawn,
        )

    # Expected and actual costs of messages

    @cached_property
    def forecasts(self) -> Forecasts:
        return Forecasts(
            chats=self.context.chats,
            sidecars=self.sidecars,
            chat_filter=self.chat_filter,
            selector=self.selector,
            briefings=self.briefings,
            ledger=self.ledger,
            count_tokens=self.count_tokens,
            as_text=self.planner.gives_tools_as_text,
        )

    @cached_property
    def costs(self) -> RequestCosts:
        return RequestCosts(
            forecasts=self.forecasts,
            planner=self.planner,
            model=self.model,
            last_request=self.stored_receipts.last_request,
            client_fields_of=self.stored_receipts.newest_client_fields,
        )

    @cached_property
    def recorder(self) -> ReceiptRecorder:
        return ReceiptRecorder(
            chats=self.context.chats,
            stored=self.stored_receipts,
            forecasts=self.forecasts,
            model=self.model,
            emit=self.context.emit,
            logger=self.context.logger,
        )

    @cached_property
    def replays(self) -> Replays:
        return Replays(
            chats=self.context.chats,
            chat_filter=self.chat_filter,
            selector=self.selector,
            model=self.model,
            briefings=self.briefings,
            build_history=self.context.build_history,
            planner=self.planner,
        )

    @cached_property
    def compaction(self) -> TopicCompaction:
        models = self.model.models
        return TopicCompaction(
            chats=self.context.chats,
            chat_filter=self.chat_filter,
            selector=self.selector,
            sidecars=self.sidecars,
            steps=self.undo,
            costs=self.costs,
            sum_up=self.context.sum_up,
            has_writer=lambda: models().writer is not None,
        )

    @cached_property
    def hooks(self) -> TurnHandlers:
        return TurnHandlers(
            chats=self.context.chats,
            models=self.model.models,
            latest=self.context.latest,
            sidecars=self.sidecars,
            undo=self.undo,
            cache=self.cache,
            archive=self.archive,
            ledger=self.ledger,
            selector=self.selector,
            chat_filter=self.chat_filter,
            topics=self.topics,
            context_changes=self.changes,
            files=self.planner.files,
            briefings=self.briefings,
            receipts=self.recorder,
            belongings=self.belongings,
            logger=self.context.logger,
            compaction=self.compaction,
        )

    # Commands

    @cached_property
    def commands(self) -> Mapping[str, CommandHandler]:
        """All commands, by the name that clients call."""
        return {handler.__name__: handler for handler in self._handlers()}

    def _handlers(self) -> Iterator[CommandHandler]:
        yield from self._about_topics()
        yield from self._about_costs()
        yield from self._about_notes()
        contexts, recalls, roles = self.contexts, self.recalls, self.roles
        yield from (contexts.attach_context, contexts.detach_context, contexts.chat_contexts)
        yield from (contexts.add_notes, recalls.recall, recalls.recalls, recalls.forget_recall)
        yield from (roles.roles, roles.set_role)

    def _about_topics(self) -> Iterator[CommandHandler]:
        editing, atlas, filters = (
            self.editing,
            self.atlas,
            FilterCommands(chat_filter=self.chat_filter),
        )
        yield from (filters.set_filter, filters.get_topics)
        yield from (filters.suggest_topics, filters.set_similarity_mode, filters.set_file_tools)
        yield from (filters.pin, filters.hide, filters.release)
        yield from (editing.rename_topic, editing.merge_topics, editing.delete_topic)
        yield from (editing.add_topic, editing.assign, editing.set_threshold, editing.undo)
        yield from (atlas.atlas, atlas.atlas_messages, atlas.pause_atlas)
        extraction = ExtractionCommands(
            topics=self.topics,
            chat_filter=self.chat_filter,
            selector=self.selector,
            latest=self.context.latest,
            settled=self.context.settled,
        )
        yield from (extraction.refresh_topics, extraction.topic_map)
        yield self.compaction.compact_topics
        yield Splitting(
            chats=self.context.chats,
            chat_filter=self.chat_filter,
            selector=self.selector,
            belongings=self.belongings,
        ).split

    def _about_costs(self) -> Iterator[CommandHandler]:
        context = self.context
        previews = PreviewCommands(
            forecasts=self.forecasts,
            costs=self.costs,
            briefings=self.briefings,
            model=self.model,
            ask_above=self.settings.ask_above_tokens,
            draft_of=context.requests.draft,
            planner=self.planner,
            text_of=context.requests.attached_text,
            client_fields_of=self.stored_receipts.newest_client_fields,
        )
        yield from (previews.preview, previews.reasons, previews.describe_topic)
        receipts = ReceiptCommands(
            chats=self.context.chats,
            stored=self.stored_receipts,
            replays=self.replays,
            prices=lambda: context.prices,
            count_tokens=self.count_tokens,
        )
        yield from (receipts.costs, receipts.turns, receipts.receipts)
        yield from (receipts.knew, receipts.receipt, receipts.replay)
        comparisons = Comparisons(
            replays=self.replays,
            recorder=self.recorder,
            planner=self.planner,
            requests=self.context.requests,
            draft_of=context.requests.draft,
            keep_file=context.files.keep,
            prices=lambda: context.prices,
            emit=self.context.emit,
            find_topics=lambda chat_id: context.latest(
                ("topics", chat_id), self.topics.update(chat_id)
            ),
        )
        yield from (comparisons.compare, comparisons.keep_answer)

    def _about_notes(self) -> Iterator[CommandHandler]:
        context, documents = self.context, self.context.storage.vault_documents
        sharing = documents if isinstance(documents, PersonalContexts) else None
        named = NamedContexts(
            notes=self.notes,
            changes=self.changes,
            access=self.context.access,
            count_tokens=self.count_tokens,
            settings=self.settings,
            sharing=sharing,
        )
        yield from (named.list_notes, named.find_files, named.outline)
        yield from (named.list_contexts, named.get_context, named.save_context)
        yield from (named.delete_context, named.share_context)
        yield from (named.preview_context, named.compile_context)
        yield Suggestions(
            vault=context.notes,
            caches=context.storage.caches,
            embedder=context.models.embedder,
            view_of=self.chat_filter.view,
            run=context.latest,
        ).suggest_notes
        yield self.notes.slash_commands


class SmartContextPlugin:
    """Turns a chat's topics into a filter of the messages that the model is sent."""

    async def on_load(self, context: PluginContext) -> None:
        """Register hooks, commands and the panel; the host undoes it when the plugin stops."""
        self._parts = parts = await compose(context)
        hooks = parts.hooks
        context.subscribe(PIPELINE_CONTEXT, hooks.narrow_history)
        context.subscribe(PIPELINE_PROMPT, hooks.brief)
        context.subscribe(PIPELINE_PROMPT, hooks.offer_files)
        context.subscribe(PIPELINE_END, hooks.settle)
        context.subscribe(PIPELINE_END, hooks.start_extraction)
        context.subscribe(CHAT_CHANGED, hooks.chat_changed)
        context.subscribe(SIDECAR_CHANGED, hooks.sidecar_changed)
        context.subscribe(f"{ELSEWHERE}{EXTRACTION}", hooks.extracted_elsewhere)
        context.subscribe(CHAT_OPENED, hooks.chat_opened)
        context.subscribe(CHAT_SUMMED, hooks.chat_summed)
        context.subscribe(CHAT_COMPACTING, hooks.chat_compacting)
        context.subscribe(CHAT_COPIED, hooks.chat_copied)
        context.subscribe(CHAT_VERSION_SHOWN, hooks.version_shown)
        extraction = parts.background
        context.subscribe(PIPELINE_START, extraction.turn_begun)
        context.subscribe(PIPELINE_END, extraction.turn_over)
        context.subscribe(CHAT_CHANGED, extraction.look)
        context.spawn(extraction.run())
        for name, command in parts.commands.items():
            context.register_command(f"smart_context.{name}", command)
        context.register_panel()

    async def on_client_connected(self, client: Client) -> None:
        """Do nothing: the host shows the panel, and the page asks for its chat."""

    async def on_unload(self) -> None:
        """Write pending vectors, and stop listening for changes of notes."""
        await self._parts.cache.close()
        self._parts.notes.close()
