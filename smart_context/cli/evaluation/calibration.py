"""Pairs of labels and messages from a vault's own chats, for fitting a scale."""

import asyncio
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smart_context.base.errors import ChatUnreadable
from smart_context.base.text.word_lists import lines_of
from smart_context.base.text.words import content_words
from smart_context.base.values import OWNER
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.cli.evaluation.dialogues import Dialogue, DialogueKind, DialogueQuestion
from smart_context.llm.models import Embedder, Matrix
from smart_context.plugin.choices.sidecars import MEMBERS
from smart_context.plugin.topics.updates import ChatEmbedder
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.fitting import Calibration, fitted
from smart_context.relevance.judge.judging import (
    Judge,
    Line,
    null_labels,
    posterior_evidence,
    presence_evidence,
    ranking,
    read_weights,
)
from smart_context.relevance.label_scores import SearchableChat, both_passes, evidence_for
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.cosines import similarities, unit
from smart_context.storage.ports import ChatDocuments, Chats, Vectors
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.stored import from_assignments
from smart_context.topics.values import Topic

Order = Literal["in a row", "returning"]

SUBJECTS = 6
_MANY, _MOST_ABSENT, _SEED = 72, 40, 7


def as_chats(
    name: str, kind: DialogueKind, dialogues: Sequence[Dialogue]
) -> list[tuple[str, DialogueKind, list[Dialogue]]]:
    """The chats to measure from a file, in named lists.

    Dialogues of a `typed` file are joined into chats of six subjects, one after the other or each
    returning, and into chats of up to 72. They are also measured alone and, with only the first
    question and answer of each, in chats of three. Dialogues with questions get absent topics
    and short labels.
    """
    if kind == "questions":
        pick = random.Random(_SEED)  # noqa: S311 -- a repeatable choice
        labels = absent_labels()
        asked = [
            replace(
                with_absent(dialogue, pick.sample(labels, len(labels)), _MOST_ABSENT),
                short=short_labels(dialogue),
            )
            for dialogue in dialogues
        ]
        return [(name, kind, asked)]
    if kind != "typed":
        return [(name, kind, list(dialogues))]
    many = min(_MANY, len(dialogues))
    chats = {
        "in a row": chats_of(dialogues, "in a row"),
        "returning": chats_of(dialogues, "returning"),
        f"{many} subjects": chats_of(dialogues, "in a row", subjects=many, absent=_MOST_ABSENT),
        "one subject": chats_of(dialogues, "in a row", subjects=1),
        "three short subjects": chats_of(
            [*map(_beginning, dialogues)], "in a row", subjects=3, rounds=3
        ),
    }
    return [(f"{name}: {order}", kind, found) for order, found in chats.items() if found]


def absent_labels() -> tuple[str, ...]:
    """Subjects that few chats mention, and strings without a meaning."""
    return lines_of(Path(__file__).with_name("absent_labels.txt"))


def chats_of(
    dialogues: Sequence[Dialogue],
    order: Order,
    *,
    subjects: int = SUBJECTS,
    rounds: int = 1,
    absent: int = 8,
    seed: int = _SEED,
) -> list[Dialogue]:
    """Chats of several dialogues each; a dialogue is in at most one chat of each round.

    Args:
        dialogues: Each has one question, which names its subject.
        order: One subject after the other, or each in two parts, the second ones shuffled.
        subjects: The number of dialogues in a chat; a remainder that is too small is left out.
        rounds: The number of times that the dialogues are dealt.
        absent: The number of added labels that share no word with the chat.
    """
    pick = random.Random(seed)  # noqa: S311 -- a repeatable deal
    labels = [*absent_labels(), *(dialogue.questions[0].text for dialogue in dialogues)]
    chats: list[Dialogue] = []
    for _ in range(rounds):
        deck = pick.sample(dialogues, len(dialogues))
        for begin in range(0, len(deck) - subjects + 1, subjects):
            chat = joined(deck[begin : begin + subjects], order, pick)
            chats.append(with_absent(chat, pick.sample(labels, len(labels)), absent))
    return chats


def joined(parts: Sequence[Dialogue], order: Order, pick: random.Random) -> Dialogue:
    """One chat of several dialogues, with the questions of all."""
    first = [(number, 0, len(part.messages)) for number, part in enumerate(parts)]
    later: list[tuple[int, int, int]] = []
    if order == "returning":
        halves = [max(2, (end // 2 + 1) // 2 * 2) for _, _, end in first]
        later = [(n, half, end) for (n, _, end), half in zip(first, halves, strict=True)]
        first = [(n, 0, min(half, end)) for (n, _, end), half in zip(first, halves, strict=True)]
        later = pick.sample(later, len(later))
    messages = [
        replace(message, id=_id(number, message))
        for number, begin, end in (*first, *later)
        for message in parts[number].messages[begin:end]
    ]
    return Dialogue(
        name=f"{len(parts)} subjects {order}",
        messages=tuple(messages),
        questions=tuple(
            DialogueQuestion(
                text=part.questions[0].text,
                evidence=frozenset(_id(number, message) for message in part.messages),
            )
            for number, part in enumerate(parts)
            if part.questions
        ),
        groups=tuple(
            frozenset(_id(number, message) for message in part.messages)
            for number, part in enumerate(parts)
        ),
    )


def with_absent(chat: Dialogue, labels: Sequence[str], most: int) -> Dialogue:
    """The chat with the first `most` labels that share no word with it."""
    own = {question.text for question in chat.questions}
    used = {word for message in chat.messages for word in content_words(message.text)}
    used |= {word for text in own for word in content_words(text)}
    found = [
        label
        for label in labels
        if label not in own and (words := content_words(label)) and used.isdisjoint(words)
    ]
    return replace(chat, absent=tuple(found[:most]))


def _beginning(dialogue: Dialogue) -> Dialogue:
    """Its first question with the answer."""
    return replace(dialogue, messages=dialogue.messages[:2])


def _id(number: int, message: Message) -> MessageId:
    return MessageId(f"d{number}-{message.id}")


_MOST_WORDS = 3
_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


def short_labels(dialogue: Dialogue) -> tuple[str, ...]:
    """Up to three words in a row of each question that name a subject, each label once.

    Names of the speakers, dates and words such as "when" end a row. Half of the words at least
    are said in the messages that answer the question.
    """
    names = {str((m.extra or {}).get("name", "")).casefold() for m in dialogue.messages}
    texts = {message.id: message.text for message in dialogue.messages}
    found: dict[str, None] = {}
    for question in dialogue.questions:
        label = _subject(question.text, names | _question_words())
        words = frozenset(content_words(label))
        said = {word for each in question.evidence for word in content_words(texts[each])}
        if words and not question.is_trap and 2 * len(said & words) >= len(words):
            found[label] = None
    return tuple(found)


def _subject(question: str, others: set[str]) -> str:
    """The longest row of words that are not among the others, the last of equals."""
    rows: list[list[str]] = [[]]
    for word in _WORD.findall(question):
        plain = word.casefold().removesuffix("'s").removesuffix("\u2019s")
        if plain in others or plain.isdigit():
            rows.append([])
        else:
            rows[-1].append(word)
    longest = max(reversed(rows), key=lambda row: min(len(row), _MOST_WORDS))
    return " ".join(longest[-_MOST_WORDS:])


@cache
def _question_words() -> frozenset[str]:
    return frozenset(lines_of(Path(__file__).with_name("question_words.txt")))


_PRIOR = 20.0
_ROUNDS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownChat:
    """A chat whose topics are known."""

    messages: Sequence[Message]  # all n messages
    vectors: Matrix  # shape (n, d)
    topics: Sequence[Topic]
    labels: Matrix  # shape (k, d), the vectors of the topics' labels
    absent: Sequence[str]  # labels that it never mentions
    absent_labels: Matrix  # shape (a, d), their vectors


def fitted_judge(chats: Sequence[KnownChat], null_labels: Matrix, scale: Scale) -> Judge:
    """The package's judge, its evidence stretched and shifted to fit these chats.

    Args:
        null_labels: The model's vectors of the null labels.
        scale: The scale of the model's cosines.
    """
    judge = Judge(weights=read_weights(), null_labels=null_labels, scale=scale)
    present: list[tuple[float, bool]] = []
    about: list[tuple[float, bool]] = []
    for chat in chats:
        searchable = SearchableChat.of(chat.messages, chat.vectors, judge)
        labels = [*(topic.label for topic in chat.topics), *chat.absent]
        vectors = np.vstack([chat.labels, chat.absent_labels])
        found = both_passes(evidence_for(labels, vectors, searchable, judge), chat.vectors, judge)
        for number, (first, features) in enumerate(found):
            is_there = number < len(chat.topics)
            present.append((presence_evidence(first.whole, judge.weights), is_there))
            if is_there:
                ids = frozenset(chat.topics[number].message_ids)
                ranks = ranking(features, first.whole, judge.weights)
                evidence = posterior_evidence(features, first.whole, ranks, judge.weights)
                places = first.candidates.tolist()
                belongs = (chat.messages[place].id in ids for place in places)
                about += zip(evidence.tolist(), belongs, strict=True)
    return replace(
        judge, presence=_line(present, is_balanced=True), posterior=_line(about, is_balanced=False)
    )


def _line(pairs: Sequence[tuple[float, bool]], *, is_balanced: bool) -> Line:
    """The factor and shift that fit the evidence; near 1 and 0 if there is little of it.

    Args:
        pairs: Evidence, and True if it was right.
        is_balanced: Both outcomes get the same total weight, however many there are of each.
    """
    evidence = np.array([value for value, _ in pairs], dtype=np.float64)
    right = np.array([is_right for _, is_right in pairs], dtype=np.bool_)
    if right.all() or not right.any():
        return (1.0, 0.0)
    share = right.mean() if is_balanced else 0.5
    weights = np.where(right, 0.5 / share, 0.5 / (1 - share))
    found = np.array([1.0, 0.0])
    for _ in range(_ROUNDS):
        found -= _step(found, evidence, right, weights)
    return (round(float(np.clip(found[0], 0.2, 3)), 4), round(float(found[1]), 4))


def _step(
    found: NDArray[np.float64],
    evidence: NDArray[np.float64],
    right: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """One step of Newton's method; a prior worth 20 pairs keeps it near no change."""
    x = np.stack([evidence, np.ones_like(evidence)], axis=1)
    p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
    slope = x.T @ (weights * (p - right)) + _PRIOR * (found - np.array([1.0, 0.0]))
    bend = (x * (weights * p * (1 - p))[:, None]).T @ x + _PRIOR * np.eye(2)
    return np.linalg.solve(bend, slope)


FEWEST_MESSAGES = 6
MOST_CHATS = 200
_ABSENT = 16
_WIDEST = 0.5
"""A topic with a larger share of its chat's messages is skipped: it sets too little apart."""


@dataclass(kw_only=True)
class _Pairs:
    about: list[float]
    others: list[float]
    chats: int = 0
    topics: int = 0
    known: list[KnownChat] = field(default_factory=list)


async def calibrated(
    store: Chats,
    documents: ChatDocuments,
    embedder: Embedder,
    scratch: Vectors,
    *,
    now: datetime | None = None,
) -> Calibration:
    """The scale and judge that fit the newest 200 chats best; stores nothing.

    Uses the topics stored with each chat; where there are none, they are found offline.

    Args:
        documents: The documents next to the chats.
        scratch: Keeps vectors meanwhile.
        now: The time in UTC; the clock's by default.

    Raises:
        NotEnough: If the chats are too few to fit to.
        ModelFailed: If the embedder fails.
        ExtractionFailed: If the topics of a chat can't be found because of it.
    """
    cache = EmbeddingCache(scratch, embedder)
    pairs = _Pairs(about=[], others=[])
    for summary in (await store.listing.rows(OWNER))[:MOST_CHATS]:
        try:
            messages = tuple(filter(_says_something, await store.messages(summary.id)))
        except ChatUnreadable:
            continue
        if len(messages) >= FEWEST_MESSAGES:
            stored = (await documents.read(summary.id, MEMBERS))[0].value
            await _add(pairs, from_assignments(stored), cache, summary.id, messages)
    found = fitted(
        pairs.about,
        pairs.others,
        model=embedder.name,
        chats=pairs.chats,
        topics=pairs.topics,
        now=now or datetime.now(UTC),
    )
    nulls = await cache.queries(null_labels())
    judge = await asyncio.to_thread(fitted_judge, pairs.known, nulls, found.scale)
    return replace(found, judge=judge)


async def _add(
    pairs: _Pairs,
    topics: Sequence[Topic],
    cache: EmbeddingCache,
    chat_id: ChatId,
    messages: Sequence[Message],
) -> None:
    if not topics:
        extractor = EmbeddedTopicExtractor(ChatEmbedder(cache, chat_id, messages))
        topics = (await extractor.extract(messages)).topics
    if not topics:
        return
    member_ids = frozenset(i for topic in topics for i in topic.message_ids)
    known = np.array([message.id in member_ids for message in messages])
    labels = await cache.queries([topic.label for topic in topics])
    vectors = await cache.vectors(chat_id, messages)
    pairs.known.append(await _known(cache, messages, vectors, topics, labels))
    before = pairs.topics
    for topic, label in zip(topics, labels, strict=True):
        members = np.array([message.id in topic.message_ids for message in messages])
        if 0 < members.sum() <= _WIDEST * max(known.sum(), 1):
            close = similarities(unit(label[None]), vectors)[0]
            pairs.about += close[members].tolist()
            pairs.others += close[known & ~members].tolist()
            pairs.topics += 1
    pairs.chats += pairs.topics > before


async def _known(
    cache: EmbeddingCache,
    messages: Sequence[Message],
    vectors: Matrix,
    topics: Sequence[Topic],
    labels: Matrix,
) -> KnownChat:
    used = {word for message in messages for word in content_words(message.text)}
    free = [label for label in absent_labels() if used.isdisjoint(content_words(label))]
    absent = free[:: max(1, len(free) // _ABSENT)][:_ABSENT]
    return KnownChat(
        messages=messages,
        vectors=vectors,
        topics=topics,
        labels=labels,
        absent=absent,
        absent_labels=await cache.queries(absent),
    )


def _says_something(message: Message) -> bool:
    return message.is_complete and bool(message.text.strip())
