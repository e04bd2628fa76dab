"""Measures whole files, and a new chat's recall from all their dialogues at once.

Vectors are stored for the next run, which then embeds nothing.
"""

import hashlib
import io
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smart_context.base.disk.files import atomic_write
from smart_context.base.errors import ModelFailed, StoreFailed
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.cli.evaluation.dialogues import Dialogue, DialogueKind
from smart_context.cli.evaluation.measures import (
    Baselines,
    Figures,
    Findings,
    Growth,
    KeptTokens,
    MessageCounts,
    Sample,
    TypedTopicResult,
    agreement,
    best_match,
    recalls_of,
    replayed,
)
from smart_context.cli.evaluation.report import Measured, as_json, picture
from smart_context.llm.models import Embedder, Matrix
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.briefing.chat_recalls import DEFAULT_TOKENS
from smart_context.plugin.briefing.recall_prompt import (
    RecallContent,
    RecalledMessage,
    recalls_prompt,
)
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState, Reference
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.settings import FilterSettings
from smart_context.plugin.topics.updates import ChatEmbedder
from smart_context.relevance.archive.card import card_of
from smart_context.relevance.archive.ranking import SearchedChats, ranked
from smart_context.relevance.judge.calibrate import Scale, scale_for
from smart_context.relevance.judge.judging import Judge
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.warm import key_of
from smart_context.storage.memory import MemoryVectors
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.stored import to_stored
from smart_context.topics.values import Extraction

_CHAT = ChatId("measured")
_FOLDS = 5

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class DialogueTrial:
    """Measures one dialogue."""

    embedder: Embedder
    settings: FilterSettings
    # the scale of the embedding model; `None` as in a vault without a calibration
    scale: Scale | None
    judge: Judge | None  # decides what is about a topic; `None` as in a vault without a calibration
    replays: bool  # True to only measure the stability of topics while the dialogue grows

    async def measure(self, dialogue: Dialogue) -> Findings:
        """Measure one dialogue.

        Raises:
            ModelFailed: If the embedder fails, since the selector then keeps all messages.
            ExtractionFailed: If the topics can't be found.
        """
        subject = self._subject(dialogue)
        findings = Findings(dialogues=1, messages=len(dialogue.messages))
        if self.replays:
            findings.growth = await subject.replay()
            return findings
        await self._ask(subject, findings)
        subjects = dialogue.groups or dialogue.segments
        if subjects or dialogue.refers_to or dialogue.facts or dialogue.is_own:
            extraction = await subject.extract()
            await self._select(subject, extraction, findings)
            if subjects:
                findings.agreements.append(_agreement(dialogue, extraction, subjects))
        return findings

    def _subject(self, dialogue: Dialogue) -> "_EvaluatedChat":
        cache = EmbeddingCache(MemoryVectors(), self.embedder)
        scorer = RelevanceScorer(
            cache, mode=self.settings.relevance, scale=self.scale, judge=self.judge
        )
        selector = ContextSelector(scorer, self.settings, _log, patience_s=None)
        return _EvaluatedChat(dialogue, cache, selector)

    async def _ask(self, subject: "_EvaluatedChat", findings: Findings) -> None:
        for question in subject.dialogue.questions:
            decision = await subject.decide(question.text)
            places = [subject.places[i] for i in sorted(question.evidence)]
            sample = subject.sample(decision, question.evidence)
            recalls, kept = recalls_of(sample.scores, places), subject.kept(decision)
            findings.recalls.append(recalls)
            findings.samples.append(sample)
            findings.kept.append(kept)
            chosen = frozenset() if kept.fell_back else by_similarity(decision)
            sent = frozenset(decision.selection.kept)
            findings.asked.append(
                TypedTopicResult(
                    figures={
                        **MessageCounts.of(chosen, question.evidence).match._asdict(),
                        "found": not kept.fell_back,
                        "evidence": MessageCounts.of(sent, question.evidence).match.recall,
                        "tokens": kept.tokens / max(kept.total, 1),
                        **await subject.baselines(question.text, places, kept.tokens),
                    },
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
        self, subject: "_EvaluatedChat", extraction: Extraction, findings: Findings
    ) -> None:
        dialogue = subject.dialogue
        if dialogue.facts:
            sticky = frozenset(extraction.sticky_ids) & dialogue.facts.stated
            findings.sticky += MessageCounts.of(sticky, dialogue.facts.needed)
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
        self, subject: "_EvaluatedChat", extraction: Extraction, findings: Findings
    ) -> None:
        """Measure how well topics find members that were removed from them."""
        messages = subject.dialogue.messages
        for topic in extraction.topics:
            counts = MessageCounts()
            for fold in range(_FOLDS):
                hidden = frozenset(message.id for message in messages[fold::_FOLDS])
                members = frozenset(topic.message_ids) & hidden
                decision = await subject.decide(topic.label, _without(extraction, hidden))
                counts += MessageCounts.of(by_similarity(decision) & hidden, members)
                findings.samples.append(subject.sample(decision, members, among=hidden))
            if counts.wanted:
                findings.matches.append(counts.match)


@dataclass(eq=False)
class _EvaluatedChat:
    """One dialogue as a chat of the product."""

    dialogue: Dialogue
    cache: EmbeddingCache
    selector: ContextSelector
    _simple: Baselines | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.places = {message.id: place for place, message in enumerate(self.dialogue.messages)}
        self._tokens = {m.id: count_tokens(m.text, None) for m in self.dialogue.messages}
        self._total = sum(self._tokens.values())

    async def baselines(self, text: str, places: Sequence[int], budget: int) -> Mapping[str, float]:
        """The recall of simple methods with as many tokens."""
        (query,) = await self.cache.queries([text])
        if self._simple is None:
            messages = self.dialogue.messages
            self._simple = Baselines.of(
                [message.text for message in messages],
                await self.cache.vectors(_CHAT, messages),
                [self._tokens[message.id] for message in messages],
            )
        return self._simple.recalls(text, query, places, budget)

    async def extract(self) -> Extraction:
        return await self._extractor().extract(self.dialogue.messages)

    async def replay(self) -> Growth:
        return await replayed(self.dialogue, self._extractor())

    def _extractor(self) -> EmbeddedTopicExtractor:
        return EmbeddedTopicExtractor(ChatEmbedder(self.cache, _CHAT, self.dialogue.messages))

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
        decision = await self.selector.decide(view)
        if decision.problem:
            raise ModelFailed(f"{self.dialogue.name}: {decision.problem}")
        return decision

    def kept(self, decision: Decision) -> KeptTokens:
        return KeptTokens(
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
) -> Figures:
    wholes = {topic.parent_id for topic in extraction.topics}
    narrow = [frozenset(t.message_ids) for t in extraction.topics if t.label not in wholes]
    wide = [frozenset(t.message_ids) for t in extraction.topics if not t.parent_id]
    return agreement([message.id for message in dialogue.messages], narrow, wide, subjects)


def _together(decision: Decision, asked: MessageId, before: frozenset[MessageId]) -> MessageCounts:
    kept = frozenset(decision.selection.kept)
    has_both = asked in kept and before <= kept
    return MessageCounts(right=has_both, found=asked in kept, wanted=before <= kept)


def _without(extraction: Extraction, hidden: frozenset[MessageId]) -> Extraction:
    topics = (
        replace(topic, message_ids=tuple(i for i in topic.message_ids if i not in hidden))
        for topic in extraction.topics
    )
    return replace(extraction, topics=tuple(topics))


class RememberingEmbedder:
    """Caches the vectors of another embedder by text; satisfies `Embedder`.

    Args:
        folder: The folder of the files, one for each model; `None` caches in memory only.
    """

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        self._embedder = embedder
        self._path = None if folder is None else folder / f"{_digest(embedder.name)[:16].hex()}.npz"
        self._known: dict[bytes, NDArray[np.float32]] | None = None
        self._added = 0

    @property
    def name(self) -> str:
        """The name of the other embedder."""
        return self._embedder.name

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d); see `Embedder`.

        Raises:
            ModelFailed: If the other embedder fails.
        """
        if self._known is None:
            self._known = self._read()
        known = self._known
        missing = list(dict.fromkeys(text for text in texts if _digest(text) not in known))
        if missing:
            for text, row in zip(missing, await self._embedder.embed(missing), strict=True):
                known[_digest(text)] = np.asarray(row, dtype=np.float32)
            self._added += len(missing)
        return np.array([known[_digest(text)] for text in texts], dtype=np.float32)

    def keep(self) -> None:
        """Store new vectors; if the disk refuses, the next run embeds them again."""
        if self._path is None or not self._added or not self._known:
            return
        rows = io.BytesIO()
        keys = np.frombuffer(b"".join(self._known), dtype=np.uint8).reshape(len(self._known), -1)
        np.savez(rows, keys=keys, vectors=np.stack(list(self._known.values())))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._path, rows.getvalue())
        except (OSError, StoreFailed) as failure:
            _log.warning("vectors are not kept: %s", failure)
        self._added = 0

    def _read(self) -> dict[bytes, NDArray[np.float32]]:
        if self._path is None:
            return {}
        try:
            whole = io.BytesIO(self._path.read_bytes())
            with np.load(whole, allow_pickle=False) as stored:
                keys, vectors = stored["keys"], stored["vectors"]
            return {key.tobytes(): row for key, row in zip(keys, vectors, strict=True)}
        except FileNotFoundError:
            return {}
        except Exception as damaged:  # noqa: BLE001 -- a cache is rebuilt, whatever is wrong
            _log.warning("%s can't be read (%s); its vectors are rebuilt.", self._path, damaged)
            return {}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


_MOST_THAT_FIT = DEFAULT_TOKENS // 16


async def recalled_evidence(
    dialogues: Sequence[Dialogue], embedder: Embedder, scale: Scale | None = None
) -> list[tuple[str, Figures]]:
    """For each question, its dialogue, and the share of its evidence that each method recalls.

    Args:
        dialogues: Each is one chat.
        embedder: Its vectors are those of the messages and questions.
        scale: That of its cosines; `None` as in a vault without a calibration.

    Raises:
        ModelFailed: If the embedder fails.
    """
    rows = [(dialogue, message) for dialogue in dialogues for message in dialogue.messages]
    vectors = await embedder.embed([message.text for _, message in rows])
    keys = [key_of(message.id, message.text) for _, message in rows]
    begin, cards = 0, []
    for dialogue in dialogues:
        end = begin + len(dialogue.messages)
        card = card_of(dialogue.messages, is_private=False)
        cards.append(card.with_vectors(keys[begin:end], vectors[begin:end]))
        begin = end
    archive = SearchedChats([_id(dialogue) for dialogue in dialogues], cards)
    units = [_unit(dialogue, message, place) for place, (dialogue, message) in enumerate(rows)]
    places = {unit.reference: place for place, unit in enumerate(units)}
    simple = Baselines.of([message.text for _, message in rows], vectors, [0] * len(rows))
    found: list[tuple[str, Figures]] = []
    for dialogue in dialogues:
        queries = await embedder.embed([question.text for question in dialogue.questions])
        for question, query in zip(dialogue.questions, queries, strict=True):
            ranking = ranked(archive, question.text, query, scale=scale or scale_for(embedder.name))
            found_places = [places[Reference(*message)] for message in ranking.messages]
            orders: dict[str, Sequence[int]] = {"recall": found_places}
            for name, order in simple.orders(question.text, query).items():
                orders[name] = order.tolist()
            wanted = {Reference(_id(dialogue), message_id) for message_id in question.evidence}
            shares = {
                name: len(wanted & _sent(units[place] for place in order[:_MOST_THAT_FIT]))
                / len(wanted)
                for name, order in orders.items()
            }
            found.append((dialogue.name, shares))
    return found


def _id(dialogue: Dialogue) -> ChatId:
    return ChatId(dialogue.name)


def _unit(dialogue: Dialogue, message: Message, place: int) -> RecalledMessage:
    return RecalledMessage(
        reference=Reference(_id(dialogue), message.id),
        title=dialogue.name,
        date=message.created_at[:10],
        role=message.role,
        text=message.text,
        when=("", "", place),
    )


def _sent(units: Iterable[RecalledMessage]) -> set[Reference]:
    """The messages that a request contains, given all in the order of their rank."""
    content = RecallContent(
        recall_id="", label="", max_tokens=DEFAULT_TOKENS, messages=tuple(units)
    )
    (share,) = recalls_prompt([content], count_tokens=count_tokens).shares
    return {message.reference for message in share.sent}


Progress = Callable[[str, int, int], None]
"""Called with the file's name, the number of its dialogues done, and of all."""

Read = tuple[str, DialogueKind, Sequence[Dialogue]]
"""A file's name, its kind, and its dialogues."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The result of a run."""

    model: str
    settings: FilterSettings
    files: tuple[Measured, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON for programs."""
        return {
            "model": self.model,
            "mode": self.settings.relevance,
            "threshold": self.settings.similarity_threshold,
            "files": [as_json(measured) for measured in self.files],
        }

    def picture(self) -> str:
        """An SVG document with a row for each file that has similarities."""
        drawn = [(m.file, [*m.findings.samples, *m.findings.absent_samples]) for m in self.files]
        title = f"{self.model}, {self.settings.relevance}"
        return picture(title, drawn, self.settings.similarity_threshold)


async def measured_files(  # noqa: PLR0913 -- each is a part of the run
    files: Sequence[Read],
    embedder: Embedder,
    settings: FilterSettings,
    *,
    scale: Scale | None = None,
    judge: Judge | None = None,
    cache: Path | None = None,
    on_progress: Progress | None = None,
    replays: bool = False,
) -> Result:
    """Measure each file; vectors are stored even if the run is interrupted.

    Args:
        scale: The scale of the embedding model; `None` as in a vault without a calibration.
        judge: Decides what is about a topic; `None` as in a vault without a calibration.
        cache: The folder of stored vectors; `None` stores none.
        replays: True to only measure the stability of topics while the dialogues grow.

    Raises:
        ModelFailed: If the embedder fails.
        ExtractionFailed: If the embedder fails while topics are searched.
    """
    remembering = RememberingEmbedder(embedder, cache)
    trial = DialogueTrial(remembering, settings, scale, judge, replays)
    done: list[Measured] = []
    try:
        for name, kind, dialogues in files:
            findings = Findings()
            for number, dialogue in enumerate(dialogues, start=1):
                findings.add(await trial.measure(dialogue))
                if on_progress is not None:
                    on_progress(name, number, len(dialogues))
            if kind == "questions" and not replays:
                findings.recalled = await recalled_evidence(dialogues, remembering, scale)
            done.append(Measured(file=name, kind=kind, findings=findings))
    finally:
        remembering.keep()
    return Result(model=embedder.name, settings=settings, files=tuple(done))
