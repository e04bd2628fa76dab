"""Decides which messages of a chat are in context; see docs/filter.md.

Page, command line and turns all ask this one function, so what is shown is what is sent.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smart_context.base.errors import SmartContextError
from smart_context.chat.messages import STAYS, ChatId, Message, MessageId, without_notices
from smart_context.host.request.prompt import without_silent
from smart_context.plugin.choices.sidecar import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.pinned_restored import with_pinned_restored
from smart_context.plugin.selection.window_budget import WindowBudget, over_budget
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.score import Scores, TopicQuery
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.select import Selection, select_messages
from smart_context.topics.stored import stored_sticky_ids

PATIENCE_S = 20.0
"""How long a turn waits for the embedder before it uses the full history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatView:
    """A chat as the filter sees it.

    Attributes:
        chat_id: The chat.
        messages: All its stored messages, oldest first, without the one being sent.
        history: The messages that would be sent without a filter, oldest first.
        topics: The public topics of the chat file.
        is_of_client: Another program keeps the chat, and sees to the model's window itself.
        sidecar: What is stored next to the chat.
        more_follow: True if the message being sent is stored already.
        is_held: The provider held the history of the last request, so nothing was left out.
    """

    chat_id: ChatId
    messages: tuple[Message, ...]
    history: tuple[Message, ...]
    topics: tuple[Mapping[str, Any], ...]
    sidecar: ChatSidecar
    more_follow: bool = False
    is_of_client: bool = False
    is_held: bool = False

    @property
    def sticky_ids(self) -> frozenset[MessageId]:
        """Messages with standing instructions."""
        return stored_sticky_ids(list(self.topics))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The messages that a turn sends of a chat, and why.

    Attributes:
        messages: In context, chronological.
        selection: Why each candidate is in or out.
        candidates: The messages that were decided about, chronological.
        problem: Why the filter could not be applied, for people; empty when it was.
        is_cut: Messages were left out because they don't fit into the model's window.
    """

    messages: tuple[Message, ...]
    selection: Selection
    candidates: tuple[Message, ...]
    problem: str = ""
    is_cut: bool = False

    def without(self, left_out: Collection[MessageId]) -> "Decision":
        """The decision without messages that do not fit into the model's window."""
        gone = frozenset(left_out)
        if gone.isdisjoint(self.selection.kept):
            return self
        return replace(
            self,
            messages=tuple(message for message in self.messages if message.id not in gone),
            selection=over_budget(self.selection, self.candidates, gone),
            is_cut=True,
        )


class ContextSelector:
    """Applies a chat's filter to its history.

    Args:
        scorer: Scores messages.
        settings: The vault's.
        logger: For failures.
        budget: The history's share of the window; `None` sets no limit.
        patience_s: How long the embedder may take; `None` sets no limit.
    """

    def __init__(
        self,
        scorer: RelevanceScorer,
        settings: FilterSettings,
        logger: logging.Logger,
        budget: WindowBudget | None = None,
        *,
        patience_s: float | None = PATIENCE_S,
    ) -> None:
        self._patience_s = patience_s
        self._budget = budget or WindowBudget()
        self._scorer = scorer
        self._settings = settings
        self._logger = logger

    def is_searching(self, state: FilterState) -> bool:
        """True if the similarity switch of a chat is on."""
        if state.embedding_search is None:
            return self._settings.embedding_search
        return state.embedding_search

    def settings_of(self, state: FilterState) -> FilterSettings:
        """The settings of a chat: the vault's, with what the user chose for it."""
        return replace(
            self._settings,
            embedding_search=self.is_searching(state),
            similarity_threshold=(
                self._settings.similarity_threshold if state.threshold is None else state.threshold
            ),
        )

    async def decide(
        self,
        view: ChatView,
        *,
        threshold: float | None = None,
        settings: FilterSettings | None = None,
    ) -> Decision:
        """What the chat's next turn sends, and why; a failing model keeps all messages in.

        Args:
            view: The chat.
            threshold: Overrides the settings.
            settings: Override those of the chat.
        """
        state = view.sidecar.state
        settings = settings or self.settings_of(state)
        candidates = with_pinned_restored(view.history, view.messages, protected_ids(view))
        if not view.is_of_client:
            candidates = without_silent(candidates)
        scores, problem = await self._scores(view, candidates, settings)
        limit = settings.similarity_threshold if threshold is None else threshold
        selection = select_messages(
            candidates,
            scores=scores,
            threshold=limit,
            sticky=view.sticky_ids | frozenset(_standing(candidates)),
            pinned=frozenset((*state.pinned, *_added_by_plugins(view, candidates))),
            hidden=frozenset(state.hidden),
            recent=settings.recent_messages,
            keep_pairs=settings.keep_pairs,
        )
        fitting = selection
        if not view.is_of_client:
            fitting = self._budget.applied(
                selection,
                candidates,
                keep=protected_ids(view),
                has_contexts=bool(state.contexts),
                has_role=bool(state.role),
            )
        kept = frozenset(fitting.kept)
        return Decision(
            messages=tuple([message for message in candidates if message.id in kept]),
            selection=fitting,
            candidates=candidates,
            problem=problem,
            is_cut=fitting is not selection,
        )

    async def count_about(self, chat_id: ChatId, messages: Sequence[Message], label: str) -> int:
        """The number of messages that a topic would keep by similarity; 0 if that fails."""
        try:
            async with asyncio.timeout(self._patience_s):
                scores = await self._scorer.scores(chat_id, messages, [TopicQuery(label=label)])
        except (TimeoutError, SmartContextError) as failure:
            self._logger.warning("the topic %r can't be counted: %s", label, failure)
            return 0
        return int(np.count_nonzero(scores.kept(self._settings.similarity_threshold)))

    async def _scores(
        self, view: ChatView, candidates: tuple[Message, ...], settings: FilterSettings
    ) -> tuple[Scores | None, str]:
        state = view.sidecar.state
        if not (state.active_topics and settings.embedding_search and candidates):
            return None, ""
        queries, others = queries_of(view)
        said = view.messages if view.is_of_client else without_notices(view.messages)
        try:
            async with asyncio.timeout(self._patience_s):
                scores = await self._scorer.scores(
                    view.chat_id,
                    said,
                    queries,
                    others=others,
                    more_follow=view.more_follow,
                    mode=settings.relevance,
                )
        except TimeoutError:
            problem = f"The embedding model did not answer within {self._patience_s:.0f} s."
        except SmartContextError as failure:
            problem = str(failure)
        except Exception:
            self._logger.exception("scoring the chat %s failed", view.chat_id)
            problem = "Comparing the messages failed; see the log."
        else:
            return _for_candidates(scores, said, candidates), ""
        return None, f"{problem} All messages stay in context."


def queries_of(view: ChatView) -> tuple[list[TopicQuery], list[TopicQuery]]:
    """The selected topics and the others, each with its keywords and messages."""
    known = {topic.label: topic for topic in view.sidecar.topics}
    public = [
        topic["label"]
        for topic in view.topics
        if topic.get("sticky") is not True and isinstance(topic.get("label"), str)
    ]
    active = view.sidecar.state.active_topics

    def query(label: str) -> TopicQuery:
        topic = known.get(label)
        return TopicQuery(
            label=label,
            keywords=topic.keywords if topic else (),
            message_ids=topic.message_ids if topic else (),
        )

    return [query(label) for label in active], [query(c) for c in public if c not in active]


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
    """Messages that matter to the whole chat: a leading system message, a summary."""
    leading = [message.id for message in candidates[:1] if message.role == "system"]
    return leading + [m.id for m in candidates if m.is_summary or (m.extra and m.extra.get(STAYS))]


def _for_candidates(
    scores: Scores, messages: tuple[Message, ...], candidates: tuple[Message, ...]
) -> Scores:
    if candidates == messages:
        return scores
    place = {message.id: position for position, message in enumerate(messages)}
    columns = np.array([place.get(m.id, -1) for m in candidates], dtype=np.intp)
    return scores.of(columns)
