"""Builds the plugin's parts, each from parts that are built before it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from smart_context.base.values import PersonId
from smart_context.chat.messages import ChatId, MessageId
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
from smart_context.plugin.briefing.recall_sources import RecalledMessages, RecallSources, TopicOfAll
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
from smart_context.relevance.judge.fitting import stored_judge, stored_scale
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.guarded.documents import PersonalContexts
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


@dataclass(frozen=True, slots=True)
class _Filtering:
    """The user's choices, and the filter that follows from them."""

    undo: UndoSteps
    sidecars: Sidecars
    cache: EmbeddingCache
    archive: ChatArchive
    budget: WindowBudget
    selector: ContextSelector
    ledger: TokenLedger
    waiting: Waiting
    roles: RoleSources
    chat_filter: ChatFilter


@dataclass(frozen=True, slots=True)
class _Material:
    """What goes with messages: notes, contexts and roles."""

    changes: ContextChanges
    notes: VaultNotes
    contexts: ChatContexts
    recalls: ChatRecalls
    roles: ChatRoles
    briefings: Briefings


@dataclass(frozen=True, slots=True)
class _Accounts:
    """Previews of what messages would cost, and receipts of what they did cost."""

    previews: PreviewCommands
    recorder: ReceiptRecorder
    receipts: ReceiptCommands


async def compose(context: PluginContext) -> PluginParts:
    """Build the plugin's parts, in the order in which they need each other."""
    settings = FilterSettings.from_mapping(context.settings)
    model = ModelInUse(context)
    files = StoredReceipts(context.storage.logs, context.logger)
    planner = RequestPlanner(context, _file_offer(context, settings, model))
    filtering = await _filtering(context, settings, model, planner, files)

    async def topic_of_all(
        topic_id: str, person: PersonId
    ) -> tuple[str, list[tuple[ChatId, MessageId]]]:
        return await atlas.named_messages(topic_id, person)  # built below, of what this is part of

    material = _material(context, settings, model, filtering, topic_of_all)
    editing, topics = _topics(context, filtering, material, files)
    accounts = _accounts(context, settings, model, planner, filtering, material, files)
    belongings = Belongings(chats=context.chats, sidecars=filtering.sidecars, cache=filtering.cache)
    comparisons = Comparisons(
        replays=accounts.receipts.replays,
        recorder=accounts.recorder,
        planner=planner,
        requests=context.requests,
        draft_of=context.requests.draft,
        keep_file=context.files.keep,
        prices=lambda: context.prices,
        emit=context.emit,
        find_topics=lambda chat_id: context.latest(("topics", chat_id), topics.update(chat_id)),
    )
    hooks = Hooks(
        chats=context.chats,
        models=model.models,
        latest=context.latest,
        sidecars=filtering.sidecars,
        undo=filtering.undo,
        cache=filtering.cache,
        archive=filtering.archive,
        ledger=filtering.ledger,
        selector=filtering.selector,
        waiting=filtering.waiting,
        chat_filter=filtering.chat_filter,
        topics=topics,
        context_changes=material.changes,
        offer=planner.offer,
        briefings=material.briefings,
        receipts=accounts.recorder,
        belongings=belongings,
    )
    filtering.sidecars.on_changed_elsewhere(hooks.chosen_elsewhere)
    atlas = _atlas(context, settings, model, filtering, topics)
    splitting = Splitting(
        chats=context.chats,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        belongings=belongings,
    )
    handlers: tuple[CommandHandler, ...] = (
        *(comparisons.compare, comparisons.keep_answer, splitting.split),
        *(atlas.atlas, atlas.atlas_messages, atlas.pause_atlas),
        *_topic_commands(context, filtering, editing, topics),
        *_account_commands(accounts),
        *_note_commands(context, settings, model, filtering, material),
    )
    return PluginParts(
        hooks=hooks,
        commands={handler.__name__: handler for handler in handlers},
        cache=filtering.cache,
        notes=material.notes,
        extraction=atlas.background,
    )


def _file_offer(context: PluginContext, settings: FilterSettings, model: ModelInUse) -> FileOffer:
    notes = context.notes
    files = FileTools(
        context.vault, without=notes.without, nearest=notes.find, attachments=context.files
    )
    return FileOffer(files=files, mode=settings.file_tools, models=model.models)


async def _filtering(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    planner: RequestPlanner,
    files: StoredReceipts,
) -> _Filtering:
    undo = UndoSteps()
    sidecars = Sidecars(context.documents, context.logger, on_change=undo.record)
    embedder = context.models.embedder
    cache = EmbeddingCache(context.storage.vectors, embedder)
    documents = context.storage.vault_documents
    scale = await asyncio.to_thread(stored_scale, documents, embedder.name)
    judge = await asyncio.to_thread(stored_judge, documents, embedder.name)
    archive = ChatArchive(
        context.chats, context.storage.vectors, context.storage.caches, cache, scale=scale
    )
    scorer = RelevanceScorer(cache, mode=settings.relevance, scale=scale, judge=judge)
    budget = WindowBudget(window=model.window, contexts=settings.context_budget_tokens)
    selector = ContextSelector(scorer, settings, context.logger, budget)
    ledger = TokenLedger(model.count_tokens)

    async def tokens_of(view: ChatView, decision: Decision) -> Sequence[int]:
        as_text = planner.gives_tools_as_text() and not view.is_of_client
        found = await with_costs(ledger, view, decision, model.count_tokens, as_text=as_text)
        counted: list[int] = found.costs.tokens.tolist()
        return counted

    async def cache_of(chat_id: ChatId) -> Cache:
        fields = await files.newest_client_fields(chat_id)
        return model.cache(str(fields.get("model") or ""))

    waiting = Waiting(
        selector=selector,
        settings=settings,
        last_request=files.last_request,
        tokens_of=tokens_of,
        cache_of=cache_of,
    )
    roles = RoleSources(context.trust, lambda: context.user_roles)
    chat_filter = ChatFilter(
        chats=context.chats,
        sidecars=sidecars,
        selector=selector,
        waiting=waiting,
        build_history=context.build_history,
        emit=context.emit,
        undoable=undo.undoable,
        role_problem=partial(role_problem, roles),
    )
    return _Filtering(
        undo,
        sidecars,
        cache,
        archive,
        budget,
        selector,
        ledger,
        waiting,
        roles,
        chat_filter,
    )


def _material(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    filtering: _Filtering,
    topic_of_all: TopicOfAll,
) -> _Material:
    changes = ContextChanges(context.emit)
    notes = VaultNotes(
        context.notes, context.storage.vault_documents, on_change=changes.notes_changed
    )
    contexts = ChatContexts(
        notes=notes,
        chat_filter=filtering.chat_filter,
        sidecars=filtering.sidecars,
        changes=changes,
        budget=settings.context_budget_tokens,
        within=filtering.budget.for_contexts,
        model=model,
        logger=context.logger,
    )
    roles = ChatRoles(
        sources=filtering.roles,
        packing=RolePacking(context.vault, context.notes.without, filtering.roles),
        sidecars=filtering.sidecars,
        chat_filter=filtering.chat_filter,
        within=filtering.budget.for_role,
        model=model,
        logger=context.logger,
    )
    recalls = _recalls(context, model, filtering, changes, topic_of_all)
    briefings = Briefings(
        chats=context.chats,
        general=lambda: context.instructions,
        count_tokens=model.count_tokens,
        roles=roles,
        contexts=contexts,
        recalls=recalls,
        child=context.child,
    )
    return _Material(changes, notes, contexts, recalls, roles, briefings)


def _recalls(
    context: PluginContext,
    model: ModelInUse,
    filtering: _Filtering,
    changes: ContextChanges,
    topic_of_all: TopicOfAll,
) -> ChatRecalls:
    messages = RecalledMessages(
        chats=context.chats,
        sidecars=filtering.sidecars,
        access=context.access,
        logger=context.logger,
    )
    return ChatRecalls(
        sources=RecallSources(
            messages=messages,
            chat_filter=filtering.chat_filter,
            selector=filtering.selector,
            archive=filtering.archive,
            topic_of_all=topic_of_all,
            count_tokens=model.count_tokens,
        ),
        messages=messages,
        chat_filter=filtering.chat_filter,
        sidecars=filtering.sidecars,
        changes=changes,
        within=filtering.budget.for_contexts,
        model=model,
        logger=context.logger,
    )


def _topics(
    context: PluginContext, filtering: _Filtering, material: _Material, receipts: StoredReceipts
) -> tuple[TopicEditing, TopicUpdates]:
    editing = TopicEditing(
        chats=context.chats,
        sidecars=filtering.sidecars,
        steps=filtering.undo,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        emit=context.emit,
        changes=material.changes,
    )
    updates = TopicUpdates(
        chats=context.chats,
        sidecars=filtering.sidecars,
        extractor=partial(_extractor, context, Keywords()),
        cache=filtering.cache,
        emit=context.emit,
        announce=filtering.chat_filter.announce,
        edited=editing.applied,
        steps=filtering.undo,
        sent_topics=receipts.topics,
        leases=context.storage.leases,
    )
    return editing, updates


def _atlas(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    filtering: _Filtering,
    topics: TopicUpdates,
) -> AtlasCommands:
    embedder = context.models.embedder
    atlases = Atlases(context.storage, embedder, filtering.cache, context.emit, context.logger)

    async def find(chat_id: ChatId) -> None:
        told = await keep_similar(
            chat_id, filtering.chat_filter, filtering.selector, filtering.sidecars
        )
        if told is not None:
            context.emit(TOPICS_UPDATED, told)
        else:
            await topics.find_unseen(chat_id, offline=settings.atlas_extraction == "embedded")

    extraction = BackgroundExtraction(
        atlases,
        find,
        topics.is_running,
        context.latest,
        context.logger,
    )
    return AtlasCommands(
        atlases=atlases,
        chats=context.chats,
        cache=filtering.cache,
        count_tokens=model.count_tokens,
        background=extraction,
        spawn=context.spawn,
    )


def _extractor(context: PluginContext, keywords: Keywords, embedder: Embedder) -> TopicExtractor:
    fast = context.models.fast
    if fast is None:
        return EmbeddedTopicExtractor(embedder, keywords)
    return LlmTopicExtractor(fast, keywords)


def _accounts(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    planner: RequestPlanner,
    filtering: _Filtering,
    material: _Material,
    files: StoredReceipts,
) -> _Accounts:
    forecasts = Forecasts(
        chats=context.chats,
        sidecars=filtering.sidecars,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        waiting=filtering.waiting,
        briefings=material.briefings,
        ledger=filtering.ledger,
        count_tokens=model.count_tokens,
        as_text=planner.gives_tools_as_text,
    )
    material.changes.listen(forecasts.forget_briefings)
    costs = RequestCosts(
        forecasts=forecasts,
        planner=planner,
        model=model,
        last_request=files.last_request,
        client_fields_of=files.newest_client_fields,
    )
    filtering.chat_filter.tell_costs(costs.of)
    previews = PreviewCommands(
        forecasts=forecasts,
        costs=costs,
        briefings=material.briefings,
        model=model,
        ask_above=settings.ask_above_tokens,
        draft_of=context.requests.draft,
        planner=planner,
        text_of=context.requests.attached_text,
        client_fields_of=files.newest_client_fields,
    )
    recorder = ReceiptRecorder(
        chats=context.chats,
        files=files,
        forecasts=forecasts,
        model=model,
        emit=context.emit,
        logger=context.logger,
    )
    replays = Replays(
        chats=context.chats,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        briefings=material.briefings,
        build_history=context.build_history,
        planner=planner,
    )
    receipts = ReceiptCommands(
        chats=context.chats, files=files, replays=replays, prices=lambda: context.prices
    )
    return _Accounts(previews, recorder, receipts)


def _topic_commands(
    context: PluginContext, filtering: _Filtering, editing: TopicEditing, topics: TopicUpdates
) -> tuple[CommandHandler, ...]:
    filters = FilterCommands(chat_filter=filtering.chat_filter)
    extraction = ExtractionCommands(
        topics=topics,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        latest=context.latest,
    )
    compaction = TopicCompaction(
        chats=context.chats,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        sidecars=filtering.sidecars,
        steps=filtering.undo,
        ledger=filtering.ledger,
        sum_up=context.sum_up,
        has_writer=lambda: context.models.fast is not None,
    )
    return (
        *(filters.set_filter, filters.apply_now, filters.get_topics, filters.suggest_topics),
        *(filters.set_similarity_mode, filters.set_file_tools),
        *(filters.pin, filters.hide, filters.release),
        *(editing.rename_topic, editing.merge_topics, editing.delete_topic, editing.add_topic),
        *(editing.set_threshold, editing.undo),
        *(extraction.refresh_topics, extraction.topic_map, compaction.compact_topics),
    )


def _account_commands(accounts: _Accounts) -> tuple[CommandHandler, ...]:
    previews, receipts = accounts.previews, accounts.receipts
    return (
        *(previews.preview, previews.reasons, previews.describe_topic, receipts.costs),
        *(receipts.turns, receipts.receipts, receipts.knew, receipts.receipt, receipts.replay),
    )


def _note_commands(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    filtering: _Filtering,
    material: _Material,
) -> tuple[CommandHandler, ...]:
    documents = context.storage.vault_documents
    named = NamedContexts(
        notes=material.notes,
        changes=material.changes,
        access=context.access,
        count_tokens=model.count_tokens,
        settings=settings,
        sharing=documents if isinstance(documents, PersonalContexts) else None,
    )
    suggestions = Suggestions(
        vault=context.notes,
        caches=context.storage.caches,
        embedder=context.models.embedder,
        view_of=filtering.chat_filter.view,
        run=context.latest,
    )
    slash = SlashCommands(notes=material.notes)
    contexts, recalls, roles = material.contexts, material.recalls, material.roles
    return (
        *(named.list_notes, named.find_files, named.outline, suggestions.suggest_notes),
        *(named.list_contexts, named.get_context, named.save_context, named.delete_context),
        *(named.share_context, named.preview_context, named.compile_context),
        *(contexts.attach_context, contexts.detach_context, contexts.chat_contexts),
        *(contexts.add_notes, recalls.recall, recalls.recalls, recalls.forget_recall),
        *(roles.roles, roles.set_role, slash.slash_commands),
    )
