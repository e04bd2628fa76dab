"""Builds the plugin's parts, each from the parts that it needs; each person has their own."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

from cachetools import LRUCache

from smart_context.base.results import CostResult
from smart_context.base.values import OWNER, PersonId
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
    ChatCopied,
    ChatShown,
    ChatSummed,
    Compacting,
)
from smart_context.host.plugins.api import PluginContext
from smart_context.host.turn import Turn
from smart_context.llm.models import Embedder
from smart_context.llm.offline.embedded import NAME as EMBEDDED
from smart_context.packing.role_sources import RoleSources
from smart_context.plugin.atlas.atlases import Atlases
from smart_context.plugin.atlas.commands import AtlasCommands, BackgroundExtraction
from smart_context.plugin.briefing.briefing import Briefings, ChatContexts
from smart_context.plugin.briefing.chat_recalls import ChatRecalls
from smart_context.plugin.briefing.chat_roles import ChatRoles, RolePacking, role_problem
from smart_context.plugin.briefing.recall_sources import (
    MadeRecalls,
    RecalledMessages,
    RecallSources,
    no_recalls,
)
from smart_context.plugin.choices.sidecars import PeopleSidecars
from smart_context.plugin.choices.undo import StepMemory, UndoSteps
from smart_context.plugin.forecast.commands import PreviewCommands, RequestCosts
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.forecast.forecasts import ForecastMemory, Forecasts
from smart_context.plugin.forecast.plan import RequestPlanner
from smart_context.plugin.hooks import ChatHandlers, TurnHandlers
from smart_context.plugin.notes.context_documents import ContextChanges
from smart_context.plugin.notes.file_tools import FileTools
from smart_context.plugin.notes.named_contexts import NamedContexts
from smart_context.plugin.notes.suggestions import Suggestions
from smart_context.plugin.notes.vault_notes import ListedFiles, VaultNotes
from smart_context.plugin.receipts.commands import ReceiptCommands, Replays
from smart_context.plugin.receipts.comparing import Comparisons, KnownComparisons, no_comparisons
from smart_context.plugin.receipts.recording import ReceiptRecorder, RecorderMemory
from smart_context.plugin.receipts.stored import ReceiptMemory, StoredReceipts
from smart_context.plugin.selection.chat_filter import (
    ChatFilter,
    FilterAnnouncements,
    FilterCommands,
)
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings, ModelInUse
from smart_context.plugin.topics.compacting import TopicCompaction
from smart_context.plugin.topics.editing import ExtractionCommands, TopicEditing
from smart_context.plugin.topics.splitting import CopiedChoices, Splitting, keep_similar
from smart_context.plugin.topics.updates import (
    EXTRACTION,
    TOPICS_UPDATED,
    RunningExtractions,
    TopicUpdates,
)
from smart_context.relevance.archive.archive import ChatArchive
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.fitting import stored_judge, stored_scale
from smart_context.relevance.judge.judging import Judge
from smart_context.relevance.note_vectors import NoteVectors
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.guarded.storage import PersonalContexts
from smart_context.topics.clusters.keywords import Keywords
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import TopicJudge
from smart_context.topics.judging import ModelTopicJudge, Pace

MOST_PEOPLE = 256
"""The number of people whose parts are kept; they are built again when they are needed."""

P = TypeVar("P", ChatShown, ChatSummed, Compacting, ChatCopied)


async def compose(context: PluginContext) -> "_PluginParts":
    """Build what all people share of the plugin; a person's parts are built when they ask."""
    documents, embedder = context.storage.vault_documents, context.models.embedder
    return _PluginParts(
        context,
        scale=await asyncio.to_thread(stored_scale, documents, embedder.name),
        judge=await asyncio.to_thread(stored_judge, documents, embedder.name),
    )


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the plugin has in memory for all people; their parts read and change it."""

    steps: StepMemory = field(default_factory=StepMemory)
    forecasts: ForecastMemory = field(default_factory=ForecastMemory)
    receipts: ReceiptMemory = field(default_factory=ReceiptMemory)
    recorder: RecorderMemory = field(default_factory=RecorderMemory)
    comparisons: KnownComparisons = field(default_factory=no_comparisons)
    recalls: MadeRecalls = field(default_factory=no_recalls)
    extractions: RunningExtractions = field(default_factory=RunningExtractions)


class _PluginParts:
    """What all people share: settings, models, memory, and the parts of each person."""

    def __init__(self, context: PluginContext, *, scale: Scale | None, judge: Judge | None) -> None:
        self.context = context
        self.settings = FilterSettings.from_mapping(context.settings)
        self.model = ModelInUse(context)
        self.count_tokens = self.model.count_tokens
        self.ledger = TokenLedger(self.model.counter)
        self.memory = memory = _Memory()
        self.sidecars = PeopleSidecars(
            context.storage,
            context.logger,
            on_change=lambda person: UndoSteps(person, memory.steps).record,
        )
        self.cache = EmbeddingCache(context.storage.vectors, context.models.embedder)
        self.archive = ChatArchive(
            context.chats, context.storage.vectors, context.storage.caches, self.cache, scale=scale
        )
        self.budget = WindowBudget(
            window=self.model.window, contexts=self.settings.context_budget_tokens
        )
        scorer = RelevanceScorer(self.cache, mode=self.settings.relevance, scale=scale, judge=judge)
        self.selector = ContextSelector(scorer, self.settings, context.logger, self.budget)
        self.keywords, self.pace = Keywords(), Pace()
        self.note_vectors = NoteVectors(
            context.storage.caches, context.models.embedder, context.notes.index.read
        )
        self.role_sources = RoleSources(context.trust, lambda: context.user_roles)
        self.roles = RolePacking(context.vault, context.notes.without, self.role_sources)
        self.changes = ContextChanges(context.emit)
        self.changes.listen(memory.forecasts.forget_briefings)
        self.files = ListedFiles(context.notes, on_change=self.changes.notes_changed)
        self.announcements = FilterAnnouncements(
            self.sidecars.memory.people, lambda person: self.of(person).chat_filter
        )
        self.atlases = Atlases(
            storage=context.storage,
            embedder=context.models.embedder,
            cache=self.cache,
            emit=context.emit,
            logger=context.logger,
        )
        self.background = BackgroundExtraction(
            atlases=self.atlases,
            extract=self._find_topics,
            is_running=memory.extractions.is_running,
            latest=context.latest,
            logger=context.logger,
        )
        self.chats = ChatHandlers(
            chats=context.chats,
            latest=context.latest,
            sidecars=self.sidecars,
            undo=memory.steps,
            cache=self.cache,
            archive=self.archive,
            ledger=self.ledger,
            selector=self.selector,
            announce=self.announcements.announce,
            extractions=memory.extractions,
            context_changes=self.changes,
        )
        self.sidecars.memory.on_changed_elsewhere(self.chats.chosen_elsewhere)
        self._people: LRUCache[PersonId, _PersonParts] = LRUCache(MOST_PEOPLE)

    def of(self, person: PersonId) -> "_PersonParts":
        """The parts that work for a person; built when they are first needed."""
        parts = self._people.get(person)
        if parts is None:
            parts = self._people[person] = _PersonParts(self, person)
        return parts

    async def _find_topics(self, person: PersonId, chat_id: ChatId) -> None:
        topics = self.of(person).topics
        if not await topics.keep_similar(chat_id):
            offline = self.settings.atlas_extraction == "embedded"
            await topics.find_unseen(chat_id, offline=offline)


class _PersonParts:
    """The parts that work for one person, by the name that other parts use for each.

    They reach only what the person may use; what they have in memory is in `_Memory`.
    """

    def __init__(self, shared: _PluginParts, person: PersonId) -> None:
        self.shared = shared
        self.person = person
        self.context = context = shared.context.for_person(person)
        self.settings, self.model = shared.settings, shared.model
        self.cache, self.selector, self.changes = shared.cache, shared.selector, shared.changes
        self.budget, self.count_tokens = shared.budget, shared.count_tokens
        self.sidecars = shared.sidecars.of(person)
        self.undo = UndoSteps(person, shared.memory.steps)
        logs, receipts = context.storage.logs, shared.memory.receipts
        self.stored_receipts = StoredReceipts(logs, context.logger, receipts)
        self.notes = VaultNotes(context.notes, context.storage.vault_documents, shared.files)

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
            person=self.person,
            chats=self.context.chats,
            sidecars=self.sidecars,
            selector=self.selector,
            build_history=self.context.build_history,
            emit=self.context.emit,
            undoable=self.undo.undoable,
            role_problem=partial(role_problem, self.shared.role_sources),
            cost_of=self._cost_of,
            announce=self.shared.announcements.announce,
        )

    async def _cost_of(self, view: ChatView, decision: Decision) -> CostResult:
        return await self.costs.of(view, decision)

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
        return ChatRoles(
            sources=self.shared.role_sources,
            packing=self.shared.roles,
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
            made=self.shared.memory.recalls,
        )
        sources = RecallSources(
            messages=messages,
            chat_filter=self.chat_filter,
            selector=self.selector,
            archive=self.shared.archive,
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
        keywords, pace = self.shared.keywords, self.shared.pace

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
            announce=self.shared.announcements.announce,
            edited=self.editing.applied,
            steps=self.undo,
            sent_topics=self.stored_receipts.topics,
            picked=lambda chat_id: self.shared.sidecars.picked(chat_id, self.person),
            leases=self.context.storage.leases,
            keep_similar=self._keep_similar,
            running=self.shared.memory.extractions,
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
    def atlas(self) -> AtlasCommands:
        return AtlasCommands(
            atlases=self.shared.atlases,
            chats=self.context.chats,
            cache=self.cache,
            count_tokens=self.count_tokens,
            background=self.shared.background,
            spawn=self.context.spawn,
        )

    # Expected and actual costs of messages

    @cached_property
    def forecasts(self) -> Forecasts:
        return Forecasts(
            person=self.person,
            memory=self.shared.memory.forecasts,
            chats=self.context.chats,
            sidecars=self.sidecars,
            chat_filter=self.chat_filter,
            selector=self.selector,
            briefings=self.briefings,
            ledger=self.shared.ledger,
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
            memory=self.shared.memory.recorder,
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
            known=self.shared.memory.comparisons,
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
            person=self.person,
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
            vectors=self.shared.note_vectors,
            is_embedded=context.models.embedder.name == EMBEDDED,
            view_of=self.chat_filter.view,
            run=context.latest,
        ).suggest_notes
        yield self.notes.slash_commands


class SmartContextPlugin:
    """Turns a chat's topics into a filter of the messages that the model is sent."""

    async def on_load(self, context: PluginContext) -> None:
        """Register hooks, commands and the panel; the host undoes it when the plugin stops."""
        self._parts = parts = await compose(context)
        context.subscribe(PIPELINE_CONTEXT, self._of_turn(TurnHandlers.narrow_history))
        context.subscribe(PIPELINE_PROMPT, self._of_turn(TurnHandlers.brief))
        context.subscribe(PIPELINE_PROMPT, self._of_turn(TurnHandlers.offer_files))
        context.subscribe(PIPELINE_END, self._of_turn(TurnHandlers.settle))
        context.subscribe(PIPELINE_END, self._of_turn(TurnHandlers.start_extraction))
        context.subscribe(CHAT_CHANGED, parts.chats.chat_changed)
        context.subscribe(SIDECAR_CHANGED, parts.chats.sidecar_changed)
        context.subscribe(f"{ELSEWHERE}{EXTRACTION.name}", parts.chats.extracted_elsewhere)
        context.subscribe(CHAT_OPENED, self._of_person(TurnHandlers.chat_opened))
        context.subscribe(CHAT_SUMMED, self._of_person(TurnHandlers.chat_summed))
        context.subscribe(CHAT_COMPACTING, self._of_person(TurnHandlers.chat_compacting))
        context.subscribe(CHAT_COPIED, self._of_person(TurnHandlers.chat_copied))
        context.subscribe(CHAT_VERSION_SHOWN, self._of_person(TurnHandlers.version_shown))
        extraction = parts.background
        context.subscribe(PIPELINE_START, extraction.turn_begun)
        context.subscribe(PIPELINE_END, extraction.turn_over)
        context.subscribe(CHAT_CHANGED, extraction.look)
        context.spawn(extraction.run())
        for name, command in parts.of(OWNER).commands.items():
            of_person = partial(self._command, name)
            context.register_command(f"smart_context.{name}", command, for_person=of_person)
        context.register_panel()

    def _command(self, name: str, person: PersonId) -> CommandHandler:
        return self._parts.of(person).commands[name]

    def _of_turn(
        self, handle: Callable[[TurnHandlers, Turn], Awaitable[None]]
    ) -> Callable[[Turn], Awaitable[None]]:
        async def of_its_person(turn: Turn) -> None:
            await handle(self._parts.of(turn.person).hooks, turn)

        return of_its_person

    def _of_person(
        self, handle: Callable[[TurnHandlers, P], Awaitable[None]]
    ) -> Callable[[P], Awaitable[None]]:
        async def of_its_person(payload: P) -> None:
            await handle(self._parts.of(payload["person"]).hooks, payload)

        return of_its_person

    async def on_client_connected(self, client: Client) -> None:
        """Do nothing: the host shows the panel, and the page asks for its chat."""

    async def on_unload(self) -> None:
        """Write pending vectors, and stop listening for changes of notes."""
        await self._parts.cache.close()
        self._parts.files.close()
