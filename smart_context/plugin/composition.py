"""Builds the plugin's parts, each from parts that are built before it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from smart_context.host.commands.registry import CommandHandler
from smart_context.host.plugins.api import PluginContext
from smart_context.llm.models import Embedder
from smart_context.plugin.briefing.briefing import Briefings
from smart_context.plugin.briefing.chat_contexts import ChatContexts
from smart_context.plugin.briefing.chat_roles import ChatRoles, role_problem
from smart_context.plugin.briefing.role_sources import RoleSources
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.undo import UndoSteps
from smart_context.plugin.forecast.commands import PreviewCommands
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import Forecasts
from smart_context.plugin.forecast.plans import RequestPlanner
from smart_context.plugin.hooks import ChatHooks, TurnHooks
from smart_context.plugin.model_in_use import ModelInUse
from smart_context.plugin.notes.context_changes import ContextChanges
from smart_context.plugin.notes.file_offer import FileOffer
from smart_context.plugin.notes.file_tools import FileTools
from smart_context.plugin.notes.named_contexts import NamedContexts
from smart_context.plugin.notes.suggestions import Suggestions
from smart_context.plugin.notes.vault_notes import VaultNotes
from smart_context.plugin.receipts.commands import ReceiptCommands
from smart_context.plugin.receipts.files import ReceiptFiles
from smart_context.plugin.receipts.recording import ReceiptRecorder
from smart_context.plugin.receipts.replay import Replays
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.commands import FilterCommands
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings
from smart_context.plugin.topics.commands import ExtractionCommands
from smart_context.plugin.topics.editing import TopicEditing
from smart_context.plugin.topics.updates import TopicUpdates
from smart_context.relevance.cache import EmbeddingCache
from smart_context.relevance.fitting import stored_scale
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import LlmTopicExtractor, TopicExtractor


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the host is given of the plugin, and what is closed when it stops.

    Attributes:
        turns: What happens at each phase of a turn.
        chats: What happens when a chat is opened or changed.
        commands: What clients can call, by name without the plugin's id.
        cache: The chats' vectors.
        notes: The vault's notes.
    """

    turns: TurnHooks
    chats: ChatHooks
    commands: Mapping[str, CommandHandler]
    cache: EmbeddingCache
    notes: VaultNotes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filtering:
    """What the user chose, and the filter that follows from it."""

    undo: UndoSteps
    sidecars: Sidecars
    cache: EmbeddingCache
    budget: WindowBudget
    selector: ContextSelector
    role_sources: RoleSources
    chat_filter: ChatFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    """What goes with messages: notes, contexts, roles and tools."""

    changes: ContextChanges
    notes: VaultNotes
    contexts: ChatContexts
    roles: ChatRoles
    briefings: Briefings
    offer: FileOffer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topics:
    """How topics are found and edited."""

    editing: TopicEditing
    updates: TopicUpdates


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accounts:
    """What messages would cost, and what they have cost."""

    ledger: TokenLedger
    previews: PreviewCommands
    recorder: ReceiptRecorder
    receipts: ReceiptCommands


async def compose(context: PluginContext) -> Parts:
    """Build the plugin's parts, in the order in which they need each other."""
    settings = FilterSettings.from_mapping(context.settings)
    model = ModelInUse(context)
    filtering = await _filtering(context, settings, model)
    material = _material(context, settings, model, filtering)
    topics = _topics(context, filtering, material)
    accounts = _accounts(context, settings, model, filtering, material)
    turns = TurnHooks(
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        briefings=material.briefings,
        context_changes=material.changes,
        sidecars=filtering.sidecars,
        offer=material.offer,
        topics=topics.updates,
        receipts=accounts.recorder,
        cache=filtering.cache,
        latest=context.latest,
    )
    chats = ChatHooks(
        chats=context.chats,
        chat_filter=filtering.chat_filter,
        context_changes=material.changes,
        sidecars=filtering.sidecars,
        undo=filtering.undo,
        ledger=accounts.ledger,
        cache=filtering.cache,
        topics=topics.updates,
        models=model.models,
        latest=context.latest,
    )
    filtering.sidecars.on_changed_elsewhere(chats.chosen_elsewhere)
    commands = _commands(context, settings, model, filtering, material, topics, accounts)
    return Parts(
        turns=turns,
        chats=chats,
        commands=commands,
        cache=filtering.cache,
        notes=material.notes,
    )


async def _filtering(
    context: PluginContext, settings: FilterSettings, model: ModelInUse
) -> _Filtering:
    undo = UndoSteps()
    sidecars = Sidecars(context.chats.place, context.logger, on_change=undo.record)
    embedder = context.models.embedder
    cache = EmbeddingCache(partial(context.chats.place, suffix="embeddings.json"), embedder)
    scale = await asyncio.to_thread(stored_scale, context.chats.home, embedder.name)
    scorer = RelevanceScorer(cache, mode=settings.relevance, scale=scale)
    budget = WindowBudget(window=model.window, contexts=settings.context_budget_tokens)
    selector = ContextSelector(scorer, settings, context.logger, budget)
    role_sources = RoleSources(context.trust, partial(_user_roles, context))
    chat_filter = ChatFilter(
        chats=context.chats,
        sidecars=sidecars,
        selector=selector,
        build_history=context.build_history,
        emit=context.emit,
        undo_steps=undo.count,
        role_problem=partial(role_problem, role_sources),
    )
    return _Filtering(
        undo=undo,
        sidecars=sidecars,
        cache=cache,
        budget=budget,
        selector=selector,
        role_sources=role_sources,
        chat_filter=chat_filter,
    )


def _user_roles(context: PluginContext) -> Path | None:
    return context.user_roles


def _material(
    context: PluginContext, settings: FilterSettings, model: ModelInUse, filtering: _Filtering
) -> _Material:
    changes = ContextChanges(context.emit)
    notes = VaultNotes(context.notes, on_change=changes.notes_changed)
    contexts = ChatContexts(
        notes=notes,
        chats=context.chats,
        sidecars=filtering.sidecars,
        changes=changes,
        budget=settings.context_budget_tokens,
        within=filtering.budget.for_contexts,
        count_tokens=model.count_tokens,
        logger=context.logger,
    )
    roles = ChatRoles(
        root=context.vault,
        without=context.notes.without,
        sources=filtering.role_sources,
        sidecars=filtering.sidecars,
        chat_filter=filtering.chat_filter,
        within=filtering.budget.for_role,
        model=model.name,
        count_tokens=model.count_tokens,
        logger=context.logger,
    )
    briefings = Briefings(
        sidecars=filtering.sidecars, roles=roles, contexts=contexts, child=context.child
    )
    files = FileTools(
        context.vault,
        without=context.notes.without,
        nearest=context.notes.find,
        attachments=context.files,
    )
    return _Material(
        changes=changes,
        notes=notes,
        contexts=contexts,
        roles=roles,
        briefings=briefings,
        offer=FileOffer(files=files, mode=settings.file_tools, models=model.models),
    )


def _topics(context: PluginContext, filtering: _Filtering, material: _Material) -> _Topics:
    editing = TopicEditing(
        chats=context.chats,
        sidecars=filtering.sidecars,
        undo=filtering.undo,
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
    )
    return _Topics(editing=editing, updates=updates)


def _extractor(context: PluginContext, embedder: Embedder) -> TopicExtractor:
    fast = context.models.fast
    return EmbeddedTopicExtractor(embedder) if fast is None else LlmTopicExtractor(fast)


def _accounts(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    filtering: _Filtering,
    material: _Material,
) -> _Accounts:
    ledger = TokenLedger(model.count_tokens)
    forecasts = Forecasts(
        chats=context.chats,
        sidecars=filtering.sidecars,
        chat_filter=filtering.chat_filter,
        selector=filtering.selector,
        briefings=material.briefings,
        ledger=ledger,
        count_tokens=model.count_tokens,
    )
    material.changes.listen(forecasts.forget_briefings)
    planner = RequestPlanner(context, material.offer)
    previews = PreviewCommands(
        forecasts=forecasts,
        briefings=material.briefings,
        model=model,
        ask_above=settings.ask_above_tokens,
        draft_of=context.requests.draft,
        planner=planner,
    )
    files = ReceiptFiles(partial(context.chats.place, suffix="receipts.jsonl"), context.logger)
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
    return _Accounts(ledger=ledger, previews=previews, recorder=recorder, receipts=receipts)


def _commands(
    context: PluginContext,
    settings: FilterSettings,
    model: ModelInUse,
    filtering: _Filtering,
    material: _Material,
    topics: _Topics,
    accounts: _Accounts,
) -> Mapping[str, CommandHandler]:
    named = NamedContexts(
        material.notes,
        changes=material.changes,
        count_tokens=model.count_tokens,
        settings=settings,
    )
    suggestions = Suggestions(
        vault=context.notes,
        embedder=context.models.embedder,
        view_of=filtering.chat_filter.view,
        run=context.latest,
    )
    return {
        **FilterCommands(filtering.chat_filter).commands(),
        **ExtractionCommands(topics.updates, filtering.chat_filter, context.latest).commands(),
        **topics.editing.commands(),
        **accounts.previews.commands(),
        **accounts.receipts.commands(),
        **named.commands(),
        **material.contexts.commands(),
        **material.roles.commands(),
        **suggestions.commands(),
    }
