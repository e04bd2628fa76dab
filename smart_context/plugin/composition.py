"""Builds the plugin's parts, each from the parts that it needs."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from smart_context.chat.messages import ChatId
from smart_context.host.commands.registry import CommandHandler
from smart_context.host.plugins.api import PluginContext
from smart_context.llm.models import Embedder
from smart_context.packing.role_sources import RoleSources
from smart_context.plugin.atlas.atlases import Atlases
from smart_context.plugin.atlas.background import BackgroundExtraction
from smart_context.plugin.atlas.commands import AtlasCommands
from smart_context.plugin.briefing.briefing import Briefings
from smart_context.plugin.briefing.chat_contexts import ChatContexts
from smart_context.plugin.briefing.chat_recalls import ChatRecalls
from smart_context.plugin.briefing.chat_roles import ChatRoles, role_problem
from smart_context.plugin.briefing.recall_sources import RecalledMessages, RecallSources
from smart_context.plugin.briefing.role_part import RolePacking
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.undo import UndoSteps
from smart_context.plugin.forecast.commands import PreviewCommands
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import Forecasts, with_costs
from smart_context.plugin.forecast.plans import RequestPlanner
from smart_context.plugin.forecast.request_costs import RequestCosts
from smart_context.plugin.hooks import Hooks
from smart_context.plugin.model_in_use import Cache, ModelInUse
from smart_context.plugin.notes.context_documents import ContextChanges
from smart_context.plugin.notes.file_tools import FileOffer, FileTools
from smart_context.plugin.notes.named_contexts import NamedContexts
from smart_context.plugin.notes.suggestions import Suggestions
from smart_context.plugin.notes.vault_notes import SlashCommands, VaultNotes
from smart_context.plugin.receipts.commands import ReceiptCommands
from smart_context.plugin.receipts.comparing import Comparisons
from smart_context.plugin.receipts.recording import ReceiptRecorder
from smart_context.plugin.receipts.replay import Replays
from smart_context.plugin.receipts.stored import StoredReceipts
from smart_context.plugin.selection.chat_filter import ChatFilter, FilterCommands
from smart_context.plugin.selection.selector import ChatView, ContextSelector, Decision
from smart_context.plugin.selection.waiting import Waiting
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings
from smart_context.plugin.topics.compacting import TopicCompaction
from smart_context.plugin.topics.editing import ExtractionCommands, TopicEditing
from smart_context.plugin.topics.members import keep_similar
from smart_context.plugin.topics.splitting import Belongings, Splitting
from smart_context.plugin.topics.updates import TOPICS_UPDATED, TopicUpdates
from smart_context.relevance.archive.archive import ChatArchive
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.fitting import stored_judge, stored_scale
from smart_context.relevance.judge.judging import Judge
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.guarded.storage import PersonalContexts
from smart_context.topics.clusters.keywords import Keywords
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import LlmTopicExtractor, TopicExtractor


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginParts:
    """The parts that the host registers, and those that are closed when the plugin stops."""

    hooks: Hooks
    commands: Mapping[str, CommandHandler]
    cache: EmbeddingCache
    notes: VaultNotes
    extraction: BackgroundExtraction


async def compose(context: PluginContext) -> PluginParts:
    """Build the plugin's parts, each when the first that needs it is built."""
    documents, embedder = context.storage.vault_documents, context.models.embedder
    parts = _Parts(
        context,
        scale=await asyncio.to_thread(stored_scale, documents, embedder.name),
        judge=await asyncio.to_thread(stored_judge, documents, embedder.name),
    )
    parts.changes.listen(parts.forecasts.forget_briefings)
    parts.chat_filter.tell_costs(parts.costs.of)
    parts.sidecars.on_changed_elsewhere(parts.hooks.chosen_elsewhere)
    return PluginParts(
        hooks=parts.hooks,
        commands={handler.__name__: handler for handler in parts.commands()},
        cache=parts.cache,
        notes=parts.notes,
        extraction=parts.background,
    )


class _Parts:
    """Each part of the plugin, by the name under which others ask for it."""

    def __init__(self, context: PluginContext, *, scale: Scale | None, judge: Judge | None) -> None:
        self.context = context
        self.settings = FilterSettings.from_mapping(context.settings)
        self.model = ModelInUse(context)
        self.receipts_kept = StoredReceipts(context.storage.logs, context.logger)
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
        self.ledger = TokenLedger(self.model.count_tokens)
        self.role_sources = RoleSources(context.trust, lambda: context.user_roles)
        self.changes = ContextChanges(context.emit)
        self.notes = VaultNotes(
            context.notes, context.storage.vault_documents, on_change=self.changes.notes_changed
        )

    # What is sent: the filter, and what goes with the messages

    @cached_property
    def planner(self) -> RequestPlanner:
        notes, context = self.context.notes, self.context
        files = FileTools(
            context.vault, without=notes.without, nearest=notes.find, attachments=context.files
        )
        mode = self.settings.file_tools
        return RequestPlanner(context, FileOffer(files=files, mode=mode, models=self.model.models))

    @cached_property
    def waiting(self) -> Waiting:
        async def tokens_of(view: ChatView, decision: Decision) -> Sequence[int]:
            as_text = self.planner.gives_tools_as_text() and not view.is_of_client
            count = self.model.count_tokens
            found = await with_costs(self.ledger, view, decision, count, as_text=as_text)
            counted: list[int] = found.costs.tokens.tolist()
            return counted

        async def cache_of(chat_id: ChatId) -> Cache:
            fields = await self.receipts_kept.newest_client_fields(chat_id)
            return self.model.cache(str(fields.get("model") or ""))

        return Waiting(
            selector=self.selector,
            settings=self.settings,
            last_request=self.receipts_kept.last_request,
            tokens_of=tokens_of,
            cache_of=cache_of,
        )

    @cached_property
    def chat_filter(self) -> ChatFilter:
        return ChatFilter(
            chats=self.context.chats,
            sidecars=self.sidecars,
            selector=self.selector,
            waiting=self.waiting,
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
        )

    @cached_property
    def roles(self) -> ChatRoles:
        without = self.context.notes.without
        return ChatRoles(
            sources=self.role_sources,
            packing=RolePacking(self.context.vault, without, self.role_sources),
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
            count_tokens=self.model.count_tokens,
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
            count_tokens=self.model.count_tokens,
            roles=self.roles,
            contexts=self.contexts,
            recalls=self.recalls,
            child=self.context.child,
        )

    # Topics, of a chat and of all chats

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
        )

    @cached_property
    def topics(self) -> TopicUpdates:
        keywords = Keywords()

        def extractor(embedder: Embedder) -> TopicExtractor:
            fast = self.context.models.fast
            if fast is None:
                return EmbeddedTopicExtractor(embedder, keywords)
            return LlmTopicExtractor(fast, keywords)

        return TopicUpdates(
            chats=self.context.chats,
            sidecars=self.sidecars,
            extractor=extractor,
            cache=self.cache,
            emit=self.context.emit,
            announce=self.chat_filter.announce,
            edited=self.editing.applied,
            steps=self.undo,
            sent_topics=self.receipts_kept.topics,
            leases=self.context.storage.leases,
        )

    @cached_property
    def belongings(self) -> Belongings:
        return Belongings(chats=self.context.chats, sidecars=self.sidecars, cache=self.cache)

    @cached_property
    def atlases(self) -> Atlases:
        context = self.context
        embedder = context.models.embedder
        return Atlases(context.storage, embedder, self.cache, context.emit, context.logger)

    @cached_property
    def background(self) -> BackgroundExtraction:
        context, offline = self.context, self.settings.atlas_extraction == "embedded"

        async def find(chat_id: ChatId) -> None:
            told = await keep_similar(chat_id, self.chat_filter, self.selector, self.sidecars)
            if told is not None:
                context.emit(TOPICS_UPDATED, told)
            else:
                await self.topics.find_unseen(chat_id, offline=offline)

        return BackgroundExtraction(
            self.atlases, find, self.topics.is_running, context.latest, context.logger
        )

    @cached_property
    def atlas(self) -> AtlasCommands:
        return AtlasCommands(
            atlases=self.atlases,
            chats=self.context.chats,
            cache=self.cache,
            count_tokens=self.model.count_tokens,
            background=self.background,
            spawn=self.context.spawn,
        )

    # What messages would cost, and what they did

    @cached_property
    def forecasts(self) -> Forecasts:
        return Forecasts(
            chats=self.context.chats,
            sidecars=self.sidecars,
            chat_filter=self.chat_filter,
            selector=self.selector,
            waiting=self.waiting,
            briefings=self.briefings,
            ledger=self.ledger,
            count_tokens=self.model.count_tokens,
            as_text=self.planner.gives_tools_as_text,
        )

    @cached_property
    def costs(self) -> RequestCosts:
        return RequestCosts(
            forecasts=self.forecasts,
            planner=self.planner,
            model=self.model,
            last_request=self.receipts_kept.last_request,
            client_fields_of=self.receipts_kept.newest_client_fields,
        )

    @cached_property
    def recorder(self) -> ReceiptRecorder:
        return ReceiptRecorder(
            chats=self.context.chats,
            files=self.receipts_kept,
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
            briefings=self.briefings,
            build_history=self.context.build_history,
            planner=self.planner,
        )

    @cached_property
    def hooks(self) -> Hooks:
        return Hooks(
            chats=self.context.chats,
            models=self.model.models,
            latest=self.context.latest,
            sidecars=self.sidecars,
            undo=self.undo,
            cache=self.cache,
            archive=self.archive,
            ledger=self.ledger,
            selector=self.selector,
            waiting=self.waiting,
            chat_filter=self.chat_filter,
            topics=self.topics,
            context_changes=self.changes,
            offer=self.planner.offer,
            briefings=self.briefings,
            receipts=self.recorder,
            belongings=self.belongings,
        )

    # Commands

    def commands(self) -> Iterator[CommandHandler]:
        """All commands; clients call each by its name."""
        yield from self._about_topics()
        yield from self._about_costs()
        yield from self._about_notes()
        contexts, recalls, roles = self.contexts, self.recalls, self.roles
        yield from (contexts.attach_context, contexts.detach_context, contexts.chat_contexts)
        yield from (contexts.add_notes, recalls.recall, recalls.recalls, recalls.forget_recall)
        yield from (roles.roles, roles.set_role)

    def _about_topics(self) -> Iterator[CommandHandler]:
        context, chat_filter = self.context, self.chat_filter
        editing, atlas = self.editing, self.atlas
        filters = FilterCommands(chat_filter=chat_filter)
        yield from (filters.set_filter, filters.apply_now, filters.get_topics)
        yield from (filters.suggest_topics, filters.set_similarity_mode, filters.set_file_tools)
        yield from (filters.pin, filters.hide, filters.release)
        yield from (editing.rename_topic, editing.merge_topics, editing.delete_topic)
        yield from (editing.add_topic, editing.set_threshold, editing.undo)
        yield from (atlas.atlas, atlas.atlas_messages, atlas.pause_atlas)
        extraction = ExtractionCommands(
            topics=self.topics,
            chat_filter=chat_filter,
            selector=self.selector,
            latest=context.latest,
        )
        yield from (extraction.refresh_topics, extraction.topic_map)
        yield TopicCompaction(
            chats=context.chats,
            chat_filter=chat_filter,
            selector=self.selector,
            sidecars=self.sidecars,
            steps=self.undo,
            ledger=self.ledger,
            sum_up=context.sum_up,
            has_writer=lambda: context.models.fast is not None,
        ).compact_topics
        yield Splitting(
            chats=context.chats,
            chat_filter=chat_filter,
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
            client_fields_of=self.receipts_kept.newest_client_fields,
        )
        yield from (previews.preview, previews.reasons, previews.describe_topic)
        receipts = ReceiptCommands(
            chats=context.chats,
            files=self.receipts_kept,
            replays=self.replays,
            prices=lambda: context.prices,
            count_tokens=self.model.count_tokens,
        )
        yield from (receipts.costs, receipts.turns, receipts.receipts)
        yield from (receipts.knew, receipts.receipt, receipts.replay)
        comparisons = Comparisons(
            replays=self.replays,
            recorder=self.recorder,
            planner=self.planner,
            requests=context.requests,
            draft_of=context.requests.draft,
            keep_file=context.files.keep,
            prices=lambda: context.prices,
            emit=context.emit,
            find_topics=lambda chat_id: context.latest(
                ("topics", chat_id), self.topics.update(chat_id)
            ),
        )
        yield from (comparisons.compare, comparisons.keep_answer)

    def _about_notes(self) -> Iterator[CommandHandler]:
        context, documents = self.context, self.context.storage.vault_documents
        named = NamedContexts(
            notes=self.notes,
            changes=self.changes,
            access=context.access,
            count_tokens=self.model.count_tokens,
            settings=self.settings,
            sharing=documents if isinstance(documents, PersonalContexts) else None,
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
        yield SlashCommands(notes=self.notes).slash_commands
