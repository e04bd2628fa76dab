"""Forecasts of a chat's next request, kept until something changes.

The page asks at each keystroke; typing changes neither the history nor the notes.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from cachetools import LRUCache

from smart_context.base.threads import give_way
from smart_context.base.values import CountTokens, JsonObject, PersonId
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.request.request import AddedTexts
from smart_context.host.request.tokens import PER_IMAGE, system_tokens, tokens_around
from smart_context.plugin.briefing.briefing import Briefing, Briefings
from smart_context.plugin.choices.sidecars import ChatSidecar, Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.costs import (
    HISTORY_PARTS,
    Costs,
    TokenLedger,
    TokensByPart,
    attached_tokens,
    history_tokens,
)
from smart_context.plugin.forecast.hidden_text import (
    HiddenPlace,
    find_hidden_text,
    hidden_places_in,
)
from smart_context.plugin.forecast.plan import TurnPlan
from smart_context.plugin.notes.context_prompt import appended
from smart_context.plugin.selection.chat_filter import ChatFilter, with_selection
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.last_request import RequestHead, head_of
from smart_context.plugin.selection.selector import ContextSelector, kept_of_chats
from smart_context.relevance.reasons import Reason, ReasonKind
from smart_context.storage.ports import Chats

MAX_FORECASTS = 48
MAX_IDS = 500
"""The maximum number of added, and of removed, messages that a difference names."""

MAX_PLACES = 50
"""The maximum number of places with hidden text that are listed."""

BRIEFING_AGE_S = 2.0
"""The maximum age of the notes and files of a preview."""

COUNTED_AT_ONCE = 20_000
"""The most characters whose tokens are counted in the event loop; more are in a thread."""

ForecastKey = tuple[tuple[str, ...] | None, float | None]
"""Topics and threshold instead of the chat's own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """The messages of a chat that would be sent, and their costs."""

    view: ChatView
    decision: Decision
    costs: Costs
    tokens: TokensByPart
    attached: Mapping[int, int]  # of the tokens of messages, those of files, by position

    @cached_property
    def tokens_by_topic(self) -> dict[str, int]:
        """The part `history` of `tokens`, by topic: what is in none is not in here.

        What is attached to messages, summaries and system messages are parts of their own.
        """
        tokens: dict[str, int] = {}
        for position, label in self.sent_topics.items():
            written = int(self.costs.tokens[position]) - self.attached.get(position, 0)
            tokens[label] = tokens.get(label, 0) + written
        return tokens

    @cached_property
    def sent_topics(self) -> dict[int, str]:
        """The topic of each message that is sent and has one, by position.

        It is the topic that keeps the message, or else the one that it was assigned to.
        """
        known = {
            message_id: topic.label
            for topic in self.view.sidecar.topics
            for message_id in topic.message_ids
        }
        selection = self.decision.selection
        reasons, kept = selection.reasons, dict(selection.kept_by_topic())
        is_history = self.costs.parts == HISTORY_PARTS.index("history")
        sent = np.flatnonzero(reasons.is_in & is_history).tolist()
        found = ((place, kept.get(place) or known.get(reasons.ids[place])) for place in sent)
        return {place: label for place, label in found if label}

    @cached_property
    def unpicked_topics(self) -> dict[MessageId, str]:
        """The topic of each message that is in no picked topic, by the message's id."""
        picked = set(self.view.sidecar.state.active_topics)
        topics = self.view.sidecar.topics
        chosen = {topic.id or topic.label for topic in topics if topic.label in picked}
        ours = {
            message_id
            for topic in topics
            if topic.label in picked or topic.parent_id in chosen
            for message_id in topic.message_ids
        }
        found: dict[MessageId, str] = {}
        for topic in sorted(topics, key=lambda topic: bool(topic.parent_id)):
            for message_id in topic.message_ids:
                if message_id not in ours:
                    found.setdefault(message_id, topic.label)
        return found

    @cached_property
    def chosen_topics(self) -> dict[MessageId, str]:
        """The topic of each message that a person has put into one."""
        sidecar = self.view.sidecar
        about = sidecar.state.edits.held(sidecar.topics).about
        return {message_id: labels[0] for message_id, labels in about.items() if labels}

    def other_topic(self, message_id: MessageId, kind: ReasonKind) -> str:
        """The topic of a message that is left out because of it; empty if it has none."""
        if kind is ReasonKind.BELOW:
            return self.unpicked_topics.get(message_id, "")
        return self.chosen_topics.get(message_id, "") if kind is ReasonKind.APART else ""

    def reason_at(self, position: int) -> Reason:
        """The reason why a candidate is in or out, with the other topic that it is about."""
        reason = self.decision.selection.reasons.at(position)
        message = self.decision.candidates[position]
        return reason._replace(detail=self.other_topic(message.id, reason.kind))

    @cached_property
    def around(self) -> int:
        """The tokens around the messages that are sent and their tool calls."""
        is_in = self.decision.selection.reasons.is_in
        return sum(
            tokens_around(message)
            for message, goes in zip(self.decision.candidates, is_in.tolist(), strict=True)
            if goes
        )

    def _system_parts(
        self, plan: TurnPlan, count_tokens: CountTokens
    ) -> tuple[tuple[str, int], ...]:
        """The parts of the system prompt with their tokens."""
        before = appended(self.own_system or plan.added.before, plan.system)
        return plan.briefing.parts(count_tokens, before, plan.added.tools_prompt)

    def head(self, plan: TurnPlan, count_tokens: CountTokens) -> RequestHead:
        """The head of the request: its parts before the messages."""
        added = plan.added
        _, *parts = self._system_parts(plan, count_tokens)
        tools = added.tools, _counted(added.tools, count_tokens)
        return head_of([*parts, tools] if added.tools_are_behind else [tools, *parts])

    @property
    def own_system(self) -> str:
        """The system prompt that another program's request begins with; empty without one."""
        first = next(iter(self.decision.messages), None) if self.view.is_of_client else None
        return first.text if first is not None and first.role == "system" else ""

    @cached_property
    def left_out_tokens(self) -> int:
        """The tokens of the messages that are not sent."""
        return int(self.costs.tokens[~self.decision.selection.reasons.is_in].sum())

    def of(self, plan: TurnPlan, count_tokens: CountTokens) -> "Forecast":
        """The forecast with the decision of a plan, which may leave out more messages."""
        if plan.decision is self.decision:
            return self
        attached = attached_tokens(self.view, plan.decision, self.costs, count_tokens)
        tokens = history_tokens(plan.decision, self.costs, attached)
        return replace(self, decision=plan.decision, tokens=tokens, attached=attached)

    def tokens_of(self, plan: TurnPlan, count_tokens: CountTokens) -> TokensByPart:
        """The tokens of the whole request."""
        text, added = plan.briefing.message, plan.added
        message = count_tokens(text) if text.strip() else 0
        files = count_tokens(plan.attached) if plan.attached and plan.attached in text else 0
        theirs = self.own_system
        known = system_tokens(theirs, count_tokens)  # already counted as a message of the history
        parts = self._system_parts(plan, count_tokens)
        before, instructions, role, contexts, recalls, tools = [tokens for _, tokens in parts]
        return replace(
            self.tokens,
            system=self.tokens.system + before - known + _counted(added.schema, count_tokens),
            instructions=instructions,
            role=role,
            contexts=contexts,
            recalls=recalls,
            tools=tools + _counted(added.tools, count_tokens),
            attachments=self.tokens.attachments + files + _of_images(added, count_tokens),
            message=max(message - files, 0),
            results=sum(map(count_tokens, added.steps)),
        )

    def hidden_places(self, system_prompt: str, message: str) -> list[HiddenPlace]:
        """The places in the request with hidden text, in the order in which they are sent."""
        is_in = self.decision.selection.reasons.is_in
        found = hidden_places_in(system_prompt)
        for position, hidden in self.costs.hidden_text.items():
            if is_in[position]:
                sender = self.decision.candidates[position]
                found += [
                    HiddenPlace(where=_speaker(sender), hidden=each, message_id=sender.id)
                    for each in hidden
                ]
        found += [HiddenPlace(where="your message", hidden=h) for h in find_hidden_text(message)]
        return found[:MAX_PLACES]


@dataclass(frozen=True, slots=True, eq=False)
class _KeptForecast:
    forecast: Forecast
    stored: tuple[Message, ...]
    topics: object
    sidecar: ChatSidecar


@dataclass(frozen=True, slots=True, eq=False)
class _KeptBriefing:
    chosen: object
    briefing: Briefing
    read_at: float


@dataclass(frozen=True, slots=True)
class ForecastMemory:
    """The latest forecasts and briefings of all people."""

    forecasts: LRUCache[tuple[ChatId, ForecastKey, bool], _KeptForecast] = field(
        default_factory=lambda: kept_of_chats(MAX_FORECASTS, lambda kept: len(kept.stored))
    )
    # each person has contexts of their own
    briefings: dict[tuple[ChatId, PersonId], _KeptBriefing] = field(default_factory=dict)

    def forget_briefings(self) -> None:
        """Read notes and contexts again for the next briefing, since some have changed."""
        self.briefings.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Makes one person's forecasts, and remembers the latest ones."""

    person: PersonId
    memory: ForecastMemory
    chats: Chats
    sidecars: Sidecars
    chat_filter: ChatFilter
    selector: ContextSelector
    briefings: Briefings
    ledger: TokenLedger
    count_tokens: CountTokens
    as_text: Callable[[], bool]  # True if the model is given calls and results in plain text
    clock: Callable[[], float] = time.monotonic  # a monotonic clock, in seconds

    async def forecast(
        self,
        chat_id: ChatId,
        topics: Sequence[str] | None = None,
        threshold: float | None = None,
    ) -> Forecast:
        """The forecast of a chat under its own filter or another; changes nothing.

        Raises:
            InvalidParams: If a label is empty or too long, or there are too many.
        """
        wanted: ForecastKey = (None if topics is None else tuple(topics), threshold)
        stored, others = await self.chats.snapshot(chat_id, "topics")
        sidecar = await self.sidecars.of(chat_id)
        key = chat_id, wanted, self.as_text()
        kept = self.memory.forecasts.get(key)
        public = others.get("topics")
        is_same = kept and kept.stored is stored and kept.sidecar is sidecar
        if kept and is_same and kept.topics == public:
            return kept.forecast
        forecast = await self._decide(chat_id, wanted)
        if not forecast.decision.problem:  # otherwise the next try may succeed
            self.memory.forecasts[key] = _KeptForecast(forecast, stored, public, sidecar)
        return forecast

    async def briefing(
        self, chat_id: ChatId, message: str, state: FilterState, age_s: float = BRIEFING_AGE_S
    ) -> Briefing:
        """The briefing of a message, from notes and files read at most `age_s` seconds ago.

        After that time they are read again, since `git add` sends no event, and some vaults can't
        be watched. Each keystroke would be too often.
        """
        chosen = (state.contexts, state.recalls, state.role, state.role_targets)
        key = chat_id, self.person
        kept = self.memory.briefings.get(key)
        if kept and kept.chosen == chosen and self.clock() < kept.read_at + age_s:
            return await self.briefings.with_message(kept.briefing, message)
        briefing = await self.briefings.of(chat_id, message, state)
        if any(chosen) and not (briefing.contexts.problems or briefing.problems):
            self.memory.briefings[key] = _KeptBriefing(chosen, briefing, self.clock())
        return briefing

    async def with_costs(self, view: ChatView, decision: Decision) -> Forecast:
        """A decision with its costs."""
        as_text = self.as_text() and not view.is_of_client
        return await with_costs(self.ledger, view, decision, self.count_tokens, as_text=as_text)

    def plan(
        self, forecast: Forecast, question: Message, briefing: Briefing, attached: str = ""
    ) -> TurnPlan:
        """The plan of a turn with this question.

        Args:
            attached: The part of the question that holds attached texts.
        """
        decision = forecast.decision
        settings = self.selector.settings_of(forecast.view.sidecar.state)
        threshold = decision.selection.reasons.threshold
        return TurnPlan(
            view=forecast.view,
            decision=decision,
            settings=replace(settings, similarity_threshold=threshold),
            question=question,
            briefing=briefing,
            attached=attached,
        )

    async def _decide(self, chat_id: ChatId, wanted: ForecastKey) -> Forecast:
        topics, threshold = wanted
        view = await self.chat_filter.view(chat_id)
        if topics is not None:
            view = with_selection(view, topics)
        decision = await self.selector.decide(view, threshold=threshold)
        return await self.with_costs(view, decision)


async def with_costs(
    ledger: TokenLedger,
    view: ChatView,
    decision: Decision,
    count_tokens: CountTokens,
    *,
    as_text: bool,
) -> Forecast:
    """A decision with its costs; long texts are counted in a thread."""
    await give_way()
    count = partial(ledger.costs, view.chat_id, decision.candidates, as_text=as_text)
    if ledger.uncounted(view.chat_id, decision.candidates, as_text=as_text) > COUNTED_AT_ONCE:
        costs = await asyncio.to_thread(count)
    else:
        costs = count()
    attached = attached_tokens(view, decision, costs, count_tokens)
    tokens = history_tokens(decision, costs, attached)
    return Forecast(view=view, decision=decision, costs=costs, tokens=tokens, attached=attached)


def difference(before: Forecast, after: Forecast) -> JsonObject:
    """The changes from one forecast to another: added and removed messages, and tokens."""
    old, new = before.decision.selection.kept, after.decision.selection.kept
    had, has = frozenset(old), frozenset(new)
    added = [message_id for message_id in new if message_id not in had]
    removed = [message_id for message_id in old if message_id not in has]
    return {
        "messages": len(added) - len(removed),
        "tokens": after.tokens.total - before.tokens.total,
        "added": added[:MAX_IDS],
        "removed": removed[:MAX_IDS],
        "added_count": len(added),
        "removed_count": len(removed),
    }


def _counted(text: str, count_tokens: CountTokens) -> int:
    return count_tokens(text) if text else 0


def _of_images(added: AddedTexts, count_tokens: CountTokens) -> int:
    named = sum(count_tokens(after) - count_tokens(before) for before, after in added.noted)
    return PER_IMAGE * added.images + named


def _speaker(message: Message) -> str:
    return {"user": "a message of yours", "assistant": "an answer"}.get(
        message.role, f"a {message.role} message"
    )
