"""Ports for finding and judging a chat's topics, and how topics keep their identity."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice
from typing import Protocol

from smart_context.base.errors import SmartContextError
from smart_context.chat.messages import Message, MessageId
from smart_context.topics.clusters.keywords import Keywords
from smart_context.topics.naming.labels import label_key
from smart_context.topics.values import MOST_READ, MOST_TOPICS, Extraction, Previous, Topic

NOTHING_BEFORE = Previous()
_SPEAKERS = frozenset({"user", "assistant"})


class ExtractionFailed(SmartContextError):
    """Finding topics failed; the stored ones stay.

    Attributes:
        reason: The cause, in words for the panel.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class TopicExtractor(Protocol):
    """Finds the topics and the standing instructions of a chat."""

    async def extract(
        self,
        messages: Sequence[Message],
        *,
        previous: Previous = NOTHING_BEFORE,
        regroup: bool = False,
    ) -> Extraction:
        """The topics of the whole chat; none for a chat without text.

        Args:
            messages: All messages, oldest first.
            previous: The result of the last extraction: its topics change only for a reason.
            regroup: Group the chat as if it were new; only labels are reused, if they fit.

        Raises:
            ExtractionFailed: If the model fails or its reply is unusable.
        """


class TopicJudge(Protocol):
    """Names and judges topics that were found without a chat model."""

    async def judged(
        self,
        found: Extraction,
        messages: Sequence[Message],
        *,
        previous: Previous,
        insists: bool = False,
    ) -> Extraction:
        """The topics with better names; topics on one subject are merged.

        Args:
            found: The topics of the chat, each with an id.
            messages: All messages, oldest first.
            previous: Tells which topics the user relies on; these stay as they are.
            insists: The user asks for it: ask the model even if it has just failed.

        Raises:
            ExtractionFailed: If the model fails or its reply is unusable.
        """


def is_readable(message: Message) -> bool:
    """True if a message can be about a topic: finished, and more than quoted passages."""
    return message.is_complete and not message.is_extracted


def is_spoken(message: Message) -> bool:
    """True if a message has words of the user or of the model that can be about a topic."""
    return message.role in _SPEAKERS and is_readable(message) and bool(message.text.strip())


def with_keywords(
    extraction: Extraction, messages: Sequence[Message], keywords: Keywords
) -> Extraction:
    """The same topics with the keywords that set each one's messages apart."""
    places = {message.id: place for place, message in enumerate(messages)}
    groups = [[places[i] for i in topic.message_ids if i in places] for topic in extraction.topics]
    found = keywords.of([message.text[:MOST_READ] for message in messages], groups)
    topics = tuple(
        replace(topic, keywords=words)
        for topic, words in zip(extraction.topics, found, strict=True)
    )
    return replace(extraction, topics=topics)


_LARGE = 6
_RECENT_QUESTIONS = 2
_SAME = 0.5

Ids = AbstractSet[MessageId]


def reconciled(
    found: Extraction, previous: Previous, messages: Sequence[Message], *, regroup: bool = False
) -> Extraction:
    """The previous topics, changed by those found where there is a reason.

    A topic is recognised by its id, its label or its messages, and keeps its label. A message keeps
    its topics, except the newest three questions with their answers. A topic of fewer than six
    messages follows the model, unless the user has named or picked it. Topics without known
    messages are taken as found.

    Args:
        regroup: Take the topics as found; only ids are kept.
    """
    order = {message.id: place for place, message in enumerate(messages)}
    known = [_present(topic, order) for topic in previous.topics]
    known = [topic for topic in known if topic.message_ids]
    pairs = _pairs(found.topics, known)
    if regroup or not known:
        named = {topic.id: topic for topic in previous.topics}
        same = (topic if topic.id in named else replace(topic, id="") for topic in found.topics)
        return replace(found, topics=tuple(same))
    fixed = previous.fixed_labels | previous.deleted_labels
    firm = [
        topic
        for topic in known
        if len(topic.message_ids) >= _LARGE or topic.label in fixed or topic.id in pairs.values()
    ]
    free = _recent(messages) - previous.settled
    settled = {
        message_id
        for topic in firm
        if len(topic.message_ids) >= _LARGE or topic.label in fixed
        for message_id in topic.message_ids
    }
    settled = (settled - free) | previous.settled.intersection(
        message_id for topic in known for message_id in topic.message_ids
    )
    merged: list[Topic] = []
    for topic in firm:
        theirs = [found.topics[n].message_ids for n, i in pairs.items() if i == topic.id]
        new = {i for ids in theirs for i in ids if i not in settled}
        is_named_again = bool(theirs and theirs[0])
        old = {i for i in topic.message_ids if i in settled or not is_named_again}
        merged.append(_with(topic, old | new, order))
    for number, topic in enumerate(found.topics):
        if number not in pairs:
            fresh = {i for i in topic.message_ids if i not in settled}
            if fresh or not topic.message_ids:
                merged.append(_with(replace(topic, id=""), fresh, order))
    return replace(found, topics=_at_most(_distinct(merged), {topic.id for topic in firm}))


def _present(topic: Topic, order: Mapping[MessageId, int]) -> Topic:
    ids = tuple(message_id for message_id in topic.message_ids if message_id in order)
    return replace(topic, message_ids=ids, count=len(ids) or topic.count)


def _with(topic: Topic, ids: Ids, order: Mapping[MessageId, int]) -> Topic:
    chronological = tuple(sorted(ids, key=order.__getitem__))
    return replace(topic, message_ids=chronological, count=len(chronological) or topic.count)


def _pairs(found: Sequence[Topic], known: Sequence[Topic]) -> dict[int, str]:
    """The id of the known topic for each found one that is the same, by the found one's number."""
    pairs: dict[int, str] = {}

    def pair(number: int, topic_id: str) -> None:
        if topic_id and number not in pairs and topic_id not in pairs.values():
            pairs[number] = topic_id

    ids = {topic.id for topic in known}
    labels = {label_key(topic.label): topic.id for topic in known}
    for number, topic in enumerate(found):
        pair(number, topic.id if topic.id in ids else "")
    for number, topic in enumerate(found):
        pair(number, labels.get(label_key(topic.label), ""))
    shares = sorted(
        (
            (-_share(topic.message_ids, other.message_ids), number, other.id)
            for number, topic in enumerate(found)
            for other in known
        ),
    )
    for share, number, topic_id in shares:
        if -share >= _SAME:
            pair(number, topic_id)
    return pairs


def _share(one: Sequence[MessageId], other: Sequence[MessageId]) -> float:
    """The number of common messages, as a share of the smaller topic's messages."""
    return len({*one} & {*other}) / max(1, min(len(one), len(other)))


def _recent(messages: Sequence[Message]) -> set[MessageId]:
    """The newest question and the two before it, with all that follows them."""
    questions = (place for place in reversed(range(len(messages))) if _asks(messages[place]))
    start = 0
    for place in islice(questions, _RECENT_QUESTIONS + 1):
        start = place
    return {message.id for message in messages[start:]}


def _asks(message: Message) -> bool:
    return message.role == "user"


def _distinct(topics: Sequence[Topic]) -> list[Topic]:
    """The topics, except those without a message, and those with the messages of an earlier one."""
    kept: list[Topic] = []
    sets: list[Ids] = []
    for topic in topics:
        ids = frozenset(topic.message_ids)
        if ids in sets or (topic.id and not ids):
            continue
        if ids:
            sets.append(ids)
        kept.append(topic)
    return kept


def _at_most(topics: Sequence[Topic], firm: AbstractSet[str]) -> tuple[Topic, ...]:
    """At most eight topics at the top, firm ones preferred, the largest first; with their parts."""
    parts = [topic for topic in topics if topic.parent_id]
    tops = [topic for topic in topics if not topic.parent_id]
    tops.sort(key=lambda topic: (topic.id not in firm, -topic.count))
    kept = sorted(tops[:MOST_TOPICS], key=lambda topic: -topic.count)
    ids = {topic.id for topic in kept}
    return (*kept, *(part for part in parts if part.parent_id in ids))
