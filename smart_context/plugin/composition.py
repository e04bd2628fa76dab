"""Builds the plugin's parts, each from parts that are built before it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from smart_context.host.commands.registry import CommandHandler
from smart_context.host.plugins.api import PluginContext
from smart_context.llm.models import Embedder
from smart_context.packing.role_sources import RoleSources
from smart_context.plugin.briefing.briefing import Briefings
from smart_context.plugin.briefing.chat_contexts import ChatContexts
from smart_context.plugin.briefing.chat_roles import ChatRoles, role_problem
from smart_context.plugin.briefing.role_packing import RolePacking
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.undo import UndoSteps
from smart_context.plugin.forecast.commands import PreviewCommands
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import Forecasts
from smart_context.plugin.forecast.plans import RequestPlanner
from smart_context.plugin.hooks import Hooks
from smart_context.plugin.model_in_use import ModelInUse
from smart_context.plugin.notes.context_changes import ContextChanges
from smart_context.plugin.notes.file_offer import FileOffer
from smart_context.plugin.notes.file_tools import FileTools
from smart_context.plugin.notes.named_contexts import NamedContexts
from smart_context.plugin.notes.suggestions import Suggestions
from smart_context.plugin.notes.vault_notes import VaultNotes
from smart_context.plugin.receipts.commands import ReceiptCommands
from smart_context.plugin.receipts.recording import ReceiptRecorder
from smart_context.plugin.receipts.replay import Replays
from smart_context.plugin.receipts.spending import SpendingCommands
from smart_context.plugin.receipts.stored import StoredReceipts
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.commands import FilterCommands
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings
from smart_context.plugin.topics.commands import ExtractionCommands
from smart_context.plugin.topics.editing import TopicEditing
from smart_context.plugin.topics.updates import TopicUpdates
from smart_context.relevance.judge.fitting import stored_judge, stored_scale
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import LlmTopicExtractor, TopicExtractor


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginParts:
    """The parts that the host registers, and those that are closed when the plugin stops.

    Attributes:
        hooks: Handlers of the host's events.
        commands: The commands for clients, by name without the plugin's id.
        cache: The chats' vectors.
        notes: The vault's notes.
    """

    hooks: Hooks
    commands: Mapping[str, CommandHandler]
    cache: EmbeddingCache
    notes: VaultNotes


@dataclass(frozen=True, slots=True)
class _Filtering:
    """The user's choices, and the filter that follows from them."""

    undo: UndoSteps
    sidecars: Sidecars
    cache: EmbeddingCache
    budget: WindowBudget
    selector: ContextSelector
    roles: RoleSources
    chat_filter: ChatFilter


@dataclass(frozen=True, slots=True)
class _Material:
    """What goes with messages: notes, contexts, roles and tools."""

    changes: ContextChanges
    notes: VaultNotes
    contexts: ChatContexts
    roles: ChatRoles
    briefings: Briefings
    offer: FileOffer


@dataclass(frozen=True, slots=True)
class _Accounts:
    """Previews of what messages would cost, and receipts of what they did cost."""

    ledger: TokenLedger
    previews: PreviewCommands
    recorder: ReceiptRecorder
    receipts: ReceiptCommands


async def compose(context: PluginContext) -> PluginParts:
    """Build the plugin's parts, in the order in which they need each other."""
    settings = FilterSettings.from_mapping(context.settings)
    model = ModelInUse(context)
    filtering = await _filtering(context, settings, model)
    material = _material(context, settings, model, filtering)
    files = StoredReceipts(context.storage.logs, context.logger)
    editing, topics = _topics(context, filtering, material, files)
    accounts = _accounts(context, settings, model, filtering, material, files)
    hooks = Hooks(
        chats=context.chats,
        models=model.models,
        latest=context.latest,
        sidecars=filtering.sidecars,
        undo=filtering.undo,
        cache=filtering.cache,
        ledger=accounts.ledger,
        selector=filtering.selector,
        chat_filter=filtering.chat_filter,
        topics=topics,
        context_changes=material.changes,
        offer=material.offer,
        briefings=material.briefings,
        receipts=accounts.recorder,
    )
    filtering.sidecars.on_changed_elsewhere(hooks.chosen_elsewhere)
    commands = {
        **FilterCommands(chat_filter=filtering.chat_filter).commands(),
        **editing.commands(),
        **ExtractionCommands(
            topics=topics, chat_filter=filtering.chat_filter, latest=context.latest
        ).commands(),
        **accounts.previews.commands(),
        **accounts.receipts.commands(),
        **SpendingCommands(
            chats=context.chats, files=files, prices=lambda: context.prices
        ).commands(),
        **material.contexts.commands(),
        **material.roles.commands(),
        **_note_commands(context, settings, model, filtering, material),
    }
    return PluginParts(hooks=hooks, commands=commands, cache=filtering.cache, notes=material.notes)


async def _filtering(
    context: PluginContext, settings: FilterSettings, model: ModelInUse
) -> _Filtering:
    undo = UndoSteps()
    sidecars = Sidecars(context.documents, context.logger, on_change=undo.record)
    embedder = context.models.embedder
    cache = EmbeddingCache(context.storage.vectors, embedder)
    documents = context.storage.vault_documents
    scale = await asyncio.to_thread(stored_scale, documents, embedder.name)
    judge = await asyncio.to_thread(stored_judge, documents, embedder.name)
    scorer = RelevanceScorer(cache, mode=settings.relevance, scale=scale, judge=judge)
    budget = WindowBudget(window=model.window, contexts=settings.context_budget_tokens)
    selector = ContextSelector(scorer, settings, context.logger, budget)
    roles = RoleSources(context.trust, lambda: context.user_roles)
    chat_filter = ChatFilter(
        chats=context.chats,
        sidecars=sidecars,
        selector=selector,
        build_history=context.build_history,
        emit=context.emit,
        undoable=undo.undoable,
        role_problem=partial(role_problem, roles),
    )
    return _Filtering(undo, sidecars, cache, budget, selector, roles, chat_filter)


def _material(
    context: PluginContext, settings: FilterSettings, model: ModelInUse, filtering: _Filtering
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
    briefings = Briefings(
        chats=context.chats,
        general=lambda: context.instructions,
        count_tokens=model.count_tokens,
        sidecars=filtering.sidecars,
        roles=roles,
        contexts=contexts,
        child=context.child,
    )
    notes_of = context.notes
    files = FileTools(
        context.vault, without=notes_of.without, nearest=notes_of.find, attachments=context.files
    )
    offer = FileOffer(files=files, mode=settings.file_tools, models=model.models)
    return _Material(changes, notes, contexts, roles, briefings, offer)


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
        extractor=partial(_extractor, context),
        cache=filtering.cache,
        emit=context.emit,
        announce=filtering.chat_filter.announce,
        edited=editing.applied,
        steps=filtering.undo,
        sent_topics=receipts.topics,
    )
    return editing, updates


def _extractor(context: PluginContext, embedder: Embedder) -> TopicExtractor:
    fast = context.models.fast
    return EmbeddedTopicExtractor(embedder) if fast is None else LlmTopicExtractor(fast)


def _accounts(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    filtering: _Filtering,
    material: _Material,
    files: StoredReceipts,
) -> _Accounts:
    ledger = TokenLedger(model.count_tokens)
    planner = RequestPlanner(context, material.offer)
    forecasts = Forecasts(
        chats=context.chats,
        sidecars=filtering.sidecars,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        briefings=material.briefings,
        ledger=ledger,
        count_tokens=model.count_tokens,
        as_text=planner.gives_tools_as_text,
    )
    material.changes.listen(forecasts.forget_briefings)
    previews = PreviewCommands(
        forecasts=forecasts,
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
        models=model.models,
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
    receipts = ReceiptCommands(chats=context.chats, files=files, replays=replays)
    return _Accounts(ledger, previews, recorder, receipts)


def _note_commands(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    filtering: _Filtering,
    material: _Material,
) -> Mapping[str, CommandHandler]:
    named = NamedContexts(
        notes=material.notes,
        changes=material.changes,
        access=context.access,
        count_tokens=model.count_tokens,
        settings=settings,
    )
    suggestions = Suggestions(
        vault=context.notes,
        caches=context.storage.caches,
        embedder=context.models.embedder,
        view_of=filtering.chat_filter.view,
        run=context.latest,
    )
    return {**named.commands(), **suggestions.commands()}
