"""Decides which messages of a chat are in context; see docs/filter.md.

Page, command line and turns all use `ContextSelector`, so the page shows exactly what is sent.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TypeVar

import numpy as np
from cachetools import LRUCache

from smart_context.base.errors import SmartContextError
from smart_context.base.threads import MANY_MESSAGES, beside, give_way
from smart_context.chat.messages import (
    STAYS,
    ChatId,
    Message,
    MessageId,
    standing_for,
    summarized_by,
    without_notices,
)
from smart_context.host.request.prompt import without_silent
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.decision import ChatView, Decision, TopicGuess
from smart_context.plugin.selection.pinned import with_pinned_restored
from smart_context.plugin.selection.placements import NO_PLACEMENTS, placements_of
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.score import Scores, TopicQuery
from smart_context.relevance.scorer import RelevanceScorer, clearly_elsewhere, clearly_nearest
from smart_context.relevance.select import Selection, select_messages
from smart_context.topics.extraction import is_spoken
from smart_context.topics.naming.acceptance import courtesies_among
from smart_context.topics.values import MOST_GROUPED

PATIENCE_S = 20.0
"""Time that a turn waits for the embedder before it uses the full history."""

MAX_KEPT = 16
"""The maximum number of the filter's choices that are kept in memory."""

MAX_KEPT_MESSAGES = 100_000
"""The maximum messages of all chats in one cache: some 60 MB, and their texts."""

K = TypeVar("K")
V = TypeVar("V")


def kept_of_chats(most: int, messages_in: Callable[[V], int]) -> "LRUCache[K, V]":
    """A cache of at most `most` entries, and of fewer when chats are long; the longest is alone."""
    least = MAX_KEPT_MESSAGES // most
    return LRUCache(
        MAX_KEPT_MESSAGES,
        getsizeof=lambda value: min(max(messages_in(value), least), MAX_KEPT_MESSAGES),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """The filter's choice of a chat's messages; kept until chat or user's choices change."""

    view: ChatView
    candidates: tuple[Message, ...]
    selection: Selection
    problem: str
    # the messages of it that are sent, for each model and maximum tokens of the history
    decisions: dict[tuple[str, int] | None, Decision] = field(default_factory=dict)

    def is_for(self, view: ChatView) -> bool:
        """True if nothing has changed for the filter; fast where messages are the same objects."""
        known = self.view
        return (
            known.sidecar == view.sidecar
            and known.topics == view.topics
            and known.is_of_client == view.is_of_client
            and known.history == view.history
            and known.messages == view.messages
        )


@dataclass(eq=False)
class ContextSelector:
    """Applies a chat's filter to its history."""

    scorer: RelevanceScorer
    settings: FilterSettings
    logger: logging.Logger
    budget: WindowBudget = field(default_factory=WindowBudget)  # the history's share of the window
    _: KW_ONLY
    patience_s: float | None = PATIENCE_S  # the most time the embedder may take; `None` is no limit
    _kept: LRUCache[tuple[ChatId, float, FilterSettings], _Chosen] = field(
        default_factory=lambda: kept_of_chats(MAX_KEPT, lambda c: len(c.view.messages)), init=False
    )

    def is_searching(self, state: FilterState) -> bool:
        """True if the similarity switch of a chat is on."""
        if state.embedding_search is None:
            return self.settings.embedding_search
        return state.embedding_search

    def settings_of(self, state: FilterState) -> FilterSettings:
        """The settings of a chat: the vault's, with the user's choices for the chat."""
        return replace(
            self.settings,
            embedding_search=self.is_searching(state),
            similarity_threshold=(
                self.settings.similarity_threshold if state.threshold is None else state.threshold
            ),
        )

    async def decide(
        self,
        view: ChatView,
        *,
        threshold: float | None = None,
        settings: FilterSettings | None = None,
    ) -> Decision:
        """The decision what the chat's next turn sends; all messages if the model fails."""
        settings = settings or self.settings_of(view.sidecar.state)
        limit = settings.similarity_threshold if threshold is None else threshold
        chosen = await self._chosen(view, settings, limit)
        most = None if view.is_of_client else self.budget.limit(view.sidecar.state)
        known = chosen.decisions.get(most)
        if known is None:
            await give_way()
            known = await beside(
                lambda: self._decided(view, chosen), is_long=len(view.messages) > MANY_MESSAGES
            )
            chosen.decisions[most] = known
        return known

    def _decided(self, view: ChatView, chosen: _Chosen) -> Decision:
        candidates, selection = chosen.candidates, chosen.selection
        fitting = self._fitting(view, selection, candidates)
        kept = frozenset(fitting.kept)
        return Decision(
            messages=tuple([message for message in candidates if message.id in kept]),
            selection=fitting,
            candidates=candidates,
            problem=chosen.problem,
            is_cut=fitting is not selection,
        )

    def forget(self, chat_id: ChatId) -> None:
        """Forget the filter's choices for a deleted chat."""
        for key in [key for key in self._kept if key[0] == chat_id]:
            del self._kept[key]

    async def _chosen(self, view: ChatView, settings: FilterSettings, limit: float) -> _Chosen:
        """The filter's choice, made once for each state of the chat and of the user's choices."""
        key = view.chat_id, limit, settings
        known = self._kept.get(key)
        if known is not None and known.is_for(view):
            return known
        state = view.sidecar.state
        candidates = with_pinned_restored(view.history, view.messages, protected_ids(view))
        if not view.is_of_client:
            history = candidates
            candidates = await beside(
                lambda: without_silent(history), is_long=len(history) > MANY_MESSAGES
            )
        await give_way()
        scores, problem = await self._scores(view, candidates, settings)

        def selected() -> Selection:
            placements, applied_scores = NO_PLACEMENTS, scores
            if applied_scores is not None:
                placements = placements_of(state, view.sidecar.topics, candidates)
                applied_scores = applied_scores.without(placements.elsewhere)
                applied_scores = applied_scores.silent(courtesies_among(candidates))
            return select_messages(
                candidates,
                scores=applied_scores,
                threshold=limit,
                sticky=view.sticky_ids | frozenset(_standing(candidates)),
                pinned=frozenset((*state.pinned, *_added_by_plugins(view, candidates))),
                hidden=frozenset(state.hidden),
                belonging=_summaries_of_picked(view),
                said=placements.said,
                assigned=placements.assigned,
                apart=placements.apart,
                unplaced=frozenset() if applied_scores is None else _in_no_topic(view, candidates),
                recent=settings.recent_messages,
                keep_pairs=settings.keep_pairs,
            )

        selection = await beside(selected, is_long=len(candidates) > MANY_MESSAGES)
        chosen = _Chosen(view=view, candidates=candidates, selection=selection, problem=problem)
        if not problem:  # otherwise the next try may succeed
            self._kept[key] = chosen
        return chosen

    def _fitting(
        self, view: ChatView, selection: Selection, candidates: tuple[Message, ...]
    ) -> Selection:
        """The selection within the window; another program keeps to the window itself."""
        if view.is_of_client:
            return selection
        keep = protected_ids(view)
        state = view.sidecar.state
        return self.budget.applied(selection, candidates, keep=keep, state=state)

    async def topics_about(self, view: ChatView, text: str) -> TopicGuess:
        """The top-level topics that a text is clearly about; none on failure or if one is muted."""
        places = {message.id: place for place, message in enumerate(view.messages)}
        inside = {topic.label: topic for topic in view.sidecar.topics}
        known: dict[str, list[int]] = {}
        for topic in view.topics:
            label = topic.get("label")
            if topic.get("sticky") is True or topic.get("parent_id") or label not in inside:
                continue
            own = [places[name] for name in inside[label].message_ids if name in places]
            if own:
                known[label] = own
        try:
            async with asyncio.timeout(self.patience_s):
                near = await self.scorer.nearness(
                    view.chat_id, view.messages, text, list(known.values())
                )
        except (TimeoutError, SmartContextError) as failure:
            self.logger.warning("no topics can be suggested: %s", failure)
            return TopicGuess()
        labels = list(known)
        picked = _with_wholes(view.sidecar)
        other = clearly_elsewhere(near, [n for n, x in enumerate(labels) if x in picked])
        topics = [inside[labels[place]] for place in clearly_nearest(near)]
        elsewhere = None if other is None else inside[labels[other]]
        hidden = frozenset(view.sidecar.state.hidden)
        # No message of a muted topic can be sent, so a question about it would get none.
        is_muted = [hidden.issuperset(topic.message_ids) for topic in topics]
        return TopicGuess(
            topics=() if any(is_muted) else tuple(topic.label for topic in topics),
            elsewhere=elsewhere
            if elsewhere and not hidden.issuperset(elsewhere.message_ids)
            else None,
        )

    async def count_about(self, chat_id: ChatId, messages: Sequence[Message], label: str) -> int:
        """The number of messages that a topic would keep by similarity; 0 after a failure."""
        try:
            async with asyncio.timeout(self.patience_s):
                scores = await self.scorer.scores(chat_id, messages, [TopicQuery(label=label)])
        except (TimeoutError, SmartContextError) as failure:
            self.logger.warning("the topic %r can't be counted: %s", label, failure)
            return 0
        return int(np.count_nonzero(scores.kept(self.settings.similarity_threshold)))

    async def _scores(
        self, view: ChatView, candidates: tuple[Message, ...], settings: FilterSettings
    ) -> tuple[Scores | None, str]:
        state = view.sidecar.state
        if not (state.active_topics and settings.embedding_search and candidates):
            return None, ""
        queries, others = queries_of(view)
        said = view.messages if view.is_of_client else without_notices(view.messages)
        try:
            async with asyncio.timeout(self.patience_s):
                scores = await self.scorer.scores(
                    view.chat_id,
                    said,
                    queries,
                    others=others,
                    more_follow=view.more_follow,
                    mode=settings.relevance,
                )
        except TimeoutError:
            problem = f"The embedding model did not answer within {self.patience_s:.0f} s."
        except SmartContextError as failure:
            problem = str(failure)
        except Exception:
            self.logger.exception("scoring the chat %s failed", view.chat_id)
            problem = "Comparing the messages failed; see the log."
        else:
            return _for_candidates(scores, said, candidates), ""
        return None, f"{problem} All messages stay in context."


def _with_wholes(sidecar: ChatSidecar) -> frozenset[str]:
    """The labels of the picked topics, and of the wider topics that contain them."""
    picked = frozenset(sidecar.state.active_topics)
    wholes = {topic.parent_id for topic in sidecar.topics if topic.label in picked}
    return picked | {topic.label for topic in sidecar.topics if topic.id and topic.id in wholes}


def queries_of(view: ChatView) -> tuple[list[TopicQuery], list[TopicQuery]]:
    """The selected topics and the others, each with its keywords and messages.

    A summary of a topic's messages counts as one of them.
    """
    known = {topic.label: topic for topic in view.sidecar.topics}
    public = [
        topic["label"]
        for topic in view.topics
        if topic.get("sticky") is not True and isinstance(topic.get("label"), str)
    ]
    active = view.sidecar.state.active_topics
    behind = standing_for(view.messages)

    def query(label: str) -> TopicQuery:
        topic = known.get(label)
        ids = topic.message_ids if topic else ()
        summaries = (behind[message_id].id for message_id in ids if message_id in behind)
        return TopicQuery(
            label=label,
            keywords=topic.keywords if topic else (),
            message_ids=tuple(dict.fromkeys((*ids, *summaries))),
        )

    return [query(label) for label in active], [query(c) for c in public if c not in active]


def _in_no_topic(view: ChatView, candidates: Sequence[Message]) -> frozenset[MessageId]:
    """The messages that the last extraction grouped without putting them into a topic."""
    sidecar = view.sidecar
    read = next((n + 1 for n, m in enumerate(view.messages) if m.id == sidecar.seen), 0)
    placed = {message_id for topic in sidecar.topics for message_id in topic.message_ids}
    grouped = view.messages[max(0, read - MOST_GROUPED) : read]
    known = {m.id for m in grouped if m.id not in placed}
    return frozenset(
        m.id for m in candidates if m.id in known and is_spoken(m) and not m.is_summary
    )


def _summaries_of_picked(view: ChatView) -> frozenset[MessageId]:
    """The summaries of messages of picked topics."""
    behind = standing_for(view.messages)
    if not behind:
        return frozenset()
    picked, _ = queries_of(view)
    ids = {message_id for query in picked for message_id in query.message_ids}
    return frozenset(summary.id for message_id, summary in behind.items() if message_id in ids)


def protected_ids(view: ChatView) -> frozenset[MessageId]:
    """Messages that stay as long as possible: standing instructions and pinned ones."""
    return view.sticky_ids | frozenset(view.sidecar.state.pinned)


def _added_by_plugins(view: ChatView, candidates: tuple[Message, ...]) -> Iterable[MessageId]:
    """Messages that another plugin added to the history; the filter keeps them."""
    if candidates == view.messages:
        return ()
    stored = frozenset([message.id for message in view.messages])
    return (message.id for message in candidates if message.id not in stored)


def _standing(candidates: Sequence[Message]) -> list[MessageId]:
    """Messages for the whole chat: a leading system message, summaries of all, marked ones."""
    leading = [m.id for m in candidates[:1] if m.role == "system" and not summarized_by(m)]
    return leading + [
        m.id
        for m in candidates
        if (m.is_summary and not summarized_by(m)) or (m.extra and m.extra.get(STAYS))
    ]


def _for_candidates(
    scores: Scores, messages: tuple[Message, ...], candidates: tuple[Message, ...]
) -> Scores:
    if candidates == messages:
        return scores
    place = {message.id: position for position, message in enumerate(messages)}
    columns = np.array([place.get(m.id, -1) for m in candidates], dtype=np.intp)
    return scores.of(columns)
