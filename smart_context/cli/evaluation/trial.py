"""Measures dialogues with the parts of the product that decide.

The vault's extractor finds the topics, and the plugin's selector selects the messages: what is
measured is what users get.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.cli.evaluation.dialogues import Dialogue
from smart_context.cli.evaluation.measures import (
    Agreement,
    Asked,
    Baselines,
    Counts,
    Findings,
    Growth,
    Kept,
    Sample,
    best_match,
    recalls_of,
)
from smart_context.cli.evaluation.replay import agreement, replayed
from smart_context.llm.models import Embedder
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.selector import ChatView, ContextSelector, Decision
from smart_context.plugin.settings import FilterSettings
from smart_context.plugin.topics.updates import ChatEmbedder
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.judging import Judge
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.memory import MemoryVectors
from smart_context.topics.extraction import TopicExtractor
from smart_context.topics.stored import to_stored
from smart_context.topics.values import Extraction

_CHAT = ChatId("measured")
_FOLDS = 5

_log = logging.getLogger(__name__)


class Trial:
    """Measures one dialogue.

    Args:
        extractor: Creates the topic extractor for a chat's embedder.
        scale: The scale of the embedding model; `None` as in a vault without a calibration.
        judge: Decides what is about a topic; `None` as in a vault without a calibration.
        replays: Only measure how topics stay while the dialogue grows.
    """

    def __init__(
        self,
        embedder: Embedder,
        extractor: Callable[[Embedder], TopicExtractor],
        settings: FilterSettings,
        *,
        scale: Scale | None,
        judge: Judge | None,
        replays: bool = False,
    ) -> None:
        self._embedder = embedder
        self._extractor = extractor
        self._settings = settings
        self._scale = scale
        self._judge = judge
        self._replays = replays

    async def measure(self, dialogue: Dialogue) -> Findings:
        """Measure one dialogue.

        Raises:
            ModelFailed: If the embedder fails, since the selector then keeps all messages.
            ExtractionFailed: If the topics can't be found.
        """
        subject = self._subject(dialogue)
        findings = Findings(dialogues=1, messages=len(dialogue.messages))
        if self._replays:
            findings.growth = await subject.replay(self._extractor)
            return findings
        await self._ask(subject, findings)
        subjects = dialogue.groups or dialogue.segments
        if subjects or dialogue.refers_to or dialogue.facts or dialogue.is_own:
            extraction = await subject.extract(self._extractor)
            await self._select(subject, extraction, findings)
            if subjects:
                findings.agreements.append(_agreement(dialogue, extraction, subjects))
        return findings

    def _subject(self, dialogue: Dialogue) -> "_Subject":
        cache = EmbeddingCache(MemoryVectors(), self._embedder)
        scorer = RelevanceScorer(
            cache, mode=self._settings.relevance, scale=self._scale, judge=self._judge
        )
        selector = ContextSelector(scorer, self._settings, _log, patience_s=None)
        return _Subject(dialogue, cache, selector)

    async def _ask(self, subject: "_Subject", findings: Findings) -> None:
        for question in subject.dialogue.questions:
            decision = await subject.decide(question.text)
            places = [subject.places[i] for i in sorted(question.evidence)]
            sample = subject.sample(decision, question.evidence)
            recalls, kept = recalls_of(sample.scores, places), subject.kept(decision)
            findings.recalls.append(recalls)
            findings.samples.append(sample)
            findings.kept.append(kept)
            chosen = frozenset() if kept.fell_back else by_similarity(decision)
            findings.asked.append(
                Asked(
                    match=Counts.of(chosen, question.evidence).match,
                    is_found=not kept.fell_back,
                    evidence=Counts.of(
                        frozenset(decision.selection.kept), question.evidence
                    ).match.recall,
                    tokens=kept.tokens / max(kept.total, 1),
                    baselines=await subject.baselines(question.text, places, kept.tokens),
                    hits=tuple(round(recall * len(places)) for recall in recalls),
                    wanted=len(places),
                    is_trap=question.is_trap,
                )
            )
        for label in subject.dialogue.absent:
            decision = await subject.decide(label)
            findings.absent.append(decision.selection.fell_back)
            findings.absent_samples.append(subject.sample(decision, frozenset()))
        for label in subject.dialogue.short:
            decision = await subject.decide(label)
            findings.short.append(not decision.selection.fell_back)

    async def _select(
        self, subject: "_Subject", extraction: Extraction, findings: Findings
    ) -> None:
        dialogue = subject.dialogue
        if dialogue.facts:
            sticky = frozenset(extraction.sticky_ids) & dialogue.facts.stated
            findings.sticky += Counts.of(sticky, dialogue.facts.needed)
        for topic in extraction.topics:
            decision = await subject.decide(topic.label, extraction)
            findings.kept.append(subject.kept(decision))
            if dialogue.segments:
                chosen = by_similarity(decision)
                gold = dialogue.segments[best_match(chosen, dialogue.segments)]
                findings.samples.append(subject.sample(decision, gold))
            for asked, before in dialogue.refers_to.items():
                findings.follow_ups += _together(decision, asked, before)
        if dialogue.is_own:
            await self._hold_out(subject, extraction, findings)

    async def _hold_out(
        self, subject: "_Subject", extraction: Extraction, findings: Findings
    ) -> None:
        """Measure how well topics find members that were removed from them."""
        messages = subject.dialogue.messages
        for topic in extraction.topics:
            counts = Counts()
            for fold in range(_FOLDS):
                hidden = frozenset(message.id for message in messages[fold::_FOLDS])
                members = frozenset(topic.message_ids) & hidden
                decision = await subject.decide(topic.label, _without(extraction, hidden))
                counts += Counts.of(by_similarity(decision) & hidden, members)
                findings.samples.append(subject.sample(decision, members, among=hidden))
            if counts.wanted:
                findings.matches.append(counts.match)


class _Subject:
    """One dialogue as a chat of the product."""

    def __init__(
        self, dialogue: Dialogue, cache: EmbeddingCache, selector: ContextSelector
    ) -> None:
        self.dialogue = dialogue
        self.places = {message.id: place for place, message in enumerate(dialogue.messages)}
        self._cache = cache
        self._selector = selector
        self._tokens = {m.id: count_tokens(m.text, None) for m in dialogue.messages}
        self._total = sum(self._tokens.values())
        self._simple: Baselines | None = None

    async def baselines(self, text: str, places: Sequence[int], budget: int) -> Mapping[str, float]:
        """The recall of simple methods with as many tokens."""
        (query,) = await self._cache.queries([text])
        if self._simple is None:
            messages = self.dialogue.messages
            self._simple = Baselines.of(
                [message.text for message in messages],
                await self._cache.vectors(_CHAT, messages),
                [self._tokens[message.id] for message in messages],
            )
        return self._simple.recalls(text, query, places, budget)

    async def extract(self, extractor: Callable[[Embedder], TopicExtractor]) -> Extraction:
        messages = self.dialogue.messages
        return await extractor(ChatEmbedder(self._cache, _CHAT, messages)).extract(messages)

    async def replay(self, extractor: Callable[[Embedder], TopicExtractor]) -> Growth:
        embedder = ChatEmbedder(self._cache, _CHAT, self.dialogue.messages)
        return await replayed(self.dialogue, extractor(embedder))

    async def decide(self, label: str, extraction: Extraction | None = None) -> Decision:
        """The selector's decision when that topic is selected."""
        found = extraction or Extraction()
        messages = self.dialogue.messages
        view = ChatView(
            chat_id=_CHAT,
            messages=messages,
            history=messages,
            topics=tuple(to_stored(found, (), messages)),
            sidecar=ChatSidecar(state=FilterState(active_topics=(label,)), topics=found.topics),
        )
        decision = await self._selector.decide(view)
        if decision.problem:
            raise ModelFailed(f"{self.dialogue.name}: {decision.problem}")
        return decision

    def kept(self, decision: Decision) -> Kept:
        return Kept(
            tokens=sum(self._tokens[message.id] for message in decision.messages),
            total=self._total,
            fell_back=decision.selection.fell_back,
        )

    def sample(
        self,
        decision: Decision,
        belongs: frozenset[MessageId],
        *,
        among: frozenset[MessageId] | None = None,
    ) -> Sample:
        messages: Sequence[Message] = self.dialogue.messages
        found = decision.selection.reasons.found
        scores = np.zeros(len(messages)) if found is None else found.best
        chosen = np.array([among is None or m.id in among for m in messages], dtype=np.bool_)
        right = np.array([m.id in belongs for m in messages], dtype=np.bool_)
        return Sample(
            scores=scores[chosen],
            belongs=right[chosen],
            are_probabilities=decision.selection.reasons.has_probabilities,
        )


def by_similarity(decision: Decision) -> frozenset[MessageId]:
    """The messages that a topic keeps, sticky ones included; all on a fallback."""
    reasons = decision.selection.reasons
    if decision.selection.fell_back or reasons.found is None:
        return frozenset(reasons.ids)
    reaching = np.flatnonzero(reasons.found.kept(reasons.threshold))
    return frozenset(reasons.ids[int(place)] for place in reaching)


def _agreement(
    dialogue: Dialogue, extraction: Extraction, subjects: Sequence[frozenset[MessageId]]
) -> Agreement:
    wholes = {topic.parent_id for topic in extraction.topics}
    narrow = [frozenset(t.message_ids) for t in extraction.topics if t.label not in wholes]
    wide = [frozenset(t.message_ids) for t in extraction.topics if not t.parent_id]
    return agreement([message.id for message in dialogue.messages], narrow, wide, subjects)


def _together(decision: Decision, asked: MessageId, before: frozenset[MessageId]) -> Counts:
    kept = frozenset(decision.selection.kept)
    has_both = asked in kept and before <= kept
    return Counts(right=has_both, found=asked in kept, wanted=before <= kept)


def _without(extraction: Extraction, hidden: frozenset[MessageId]) -> Extraction:
    topics = (
        replace(topic, message_ids=tuple(i for i in topic.message_ids if i not in hidden))
        for topic in extraction.topics
    )
    return replace(extraction, topics=tuple(topics))
