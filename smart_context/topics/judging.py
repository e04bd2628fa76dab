"""Lets a chat model name and judge the topics that were found without it.

Every part of a reply is checked. If it fails, the result found without the model stays.
"""

import asyncio
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.base.text.languages import main_language
from smart_context.base.text.words import UNSPACED_RUN, content_words, stem
from smart_context.chat.messages import Message, MessageId
from smart_context.llm.models import ChatModel, Embedder, Matrix, text_of
from smart_context.topics.clusters.units import at_unit_length
from smart_context.topics.extraction import ExtractionFailed, is_readable, reconciled
from smart_context.topics.judgement import (
    MOST_GROUPS,
    MOST_STATEMENTS,
    Judgement,
    lines_of,
    parsed_judgement,
    question,
)
from smart_context.topics.naming.acceptance import is_courtesy
from smart_context.topics.naming.labels import LONGEST_LABEL, clean_label, is_small_word, label_key
from smart_context.topics.naming.unspaced import (
    begins_phrase,
    ends_phrase,
    is_korean,
    korean_noun,
)
from smart_context.topics.naming.words import weak_words_of
from smart_context.topics.prompting.prompt import LINE_TOKENS, extraction_prompt, tokens
from smart_context.topics.prompting.reply import ReplyUnusable, parsed_reply
from smart_context.topics.values import MOST_READ, STICKY_LABEL, Extraction, Previous, Topic

_GROWN = 2
"""A topic is named again when it has this many times the messages that it was named for."""

_MOST_WORDS = 4
_COPIED_WORDS, _COPIED_CHARACTERS = 4, 7
"""A copy of a message is no name if it has this many words, or more characters without spaces."""

_MARGIN = 0.02
"""The least difference of two cosines that makes one of them nearer."""

_OWN_WORDS = 0.5
"""The least share of a name's words that occur in its messages. Chosen from the names that a model
of 1.5 billion parameters gave for ten chats."""

_ALONE = 0.2
"""The least cosine of a name with the messages of a chat's only topic."""

_ONE_SUBJECT = 0.45
"""The least cosine of the centres of two topics that may be one."""

MOST_WHOLE_S = 5.0
"""The longest time for reading a whole chat; users seldom ask again sooner."""

MAX_PROMPT_TOKENS = 24_000
"""Fits into the window of current small models, with room for the reply."""

FIRST_REST_S, LONGEST_REST_S = 30.0, 3_600.0
_ANOTHER = "Another model may do better."
_SHORTEST_S = 0.001
_COVERED = 0.7
_TOGETHER = 0.6
_LONGEST_STATEMENT = 300
_JAPANESE = frozenset({"HIRAGANA", "KATAKANA"})
_ASKS = frozenset("?\uff1f\u061f`")


@dataclass(frozen=True, kw_only=True, eq=False)
class Members:
    """The messages of one topic."""

    messages: Sequence[Message]
    rows: Matrix  # shape (n, d), their embeddings at unit length

    @cached_property
    def centre(self) -> Matrix:
        """Shape (d,), at unit length."""
        return at_unit_length(self.rows.mean(axis=0))

    @cached_property
    def words_of_each(self) -> Sequence[AbstractSet[str]]:
        """The words of each message that carry meaning."""
        return [frozenset(content_words(text)) for text in self.texts]

    @cached_property
    def words(self) -> AbstractSet[str]:
        """The words of all messages that carry meaning."""
        return frozenset().union(*self.words_of_each)

    @property
    def texts(self) -> list[str]:
        """The part of each message that is read."""
        return [message.text[:MOST_READ] for message in self.messages]

    @cached_property
    def language(self) -> str:
        """The main language of the messages; empty if unknown."""
        return main_language(self.texts)

    def have(self, words: AbstractSet[str]) -> bool:
        """True if half of the messages have some of these words."""
        with_some = sum(not words.isdisjoint(own) for own in self.words_of_each)
        return 2 * with_some >= len(self.words_of_each)

    def are_copied_by(self, label: str) -> bool:
        """True for a long label that is a piece of a message, word for word."""
        is_long = len(label.split()) >= _COPIED_WORDS or (
            bool(UNSPACED_RUN.search(label)) and len(label) > _COPIED_CHARACTERS
        )
        return is_long and any(label.casefold() in text.casefold() for text in self.texts)

    def say(self, label: str) -> bool:
        """True if enough of a label's words are the messages' own.

        Half of them are enough. All are needed for an ASCII label of messages in another language
        than English, since a weak model gives English names for any text. One pair of letters is
        enough for a label without spaces. Numbers do not count.
        """
        words = [word for word in content_words(label) if not word.isdecimal()]
        own = sum(word in self.words for word in words)
        if UNSPACED_RUN.search(label):
            return own > 0
        is_foreign = label.isascii() and self.language not in {"", "en"}
        return own >= len(words) * (1 if is_foreign else _OWN_WORDS)


class _FailuresInARow(NamedTuple):
    """The last failures of a model in a row."""

    times: int
    until: float  # by the clock
    reason: str


class Pace:
    """The reading speed of models, and the pauses of models that fail.

    A whole chat is read only if that is fast. A model that fails twice is asked again after half a
    minute; each further failure doubles the pause, up to an hour.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tokens_per_s: dict[str, float] = {}
        self._refused: set[str] = set()
        self._failures: dict[str, _FailuresInARow] = {}

    def allows(self, model: str, tokens: int) -> bool:
        """True if a model is known to read this many tokens and answer within `MOST_WHOLE_S`."""
        most = MOST_WHOLE_S * self._tokens_per_s.get(model, 0)
        return model not in self._refused and tokens <= most

    def took(self, model: str, tokens: int, seconds: float) -> None:
        """Record the time that a model took to read this many tokens and answer."""
        self._tokens_per_s[model] = tokens / max(seconds, _SHORTEST_S)

    def refuse(self, model: str) -> None:
        """Stop asking a model to read whole chats: its last reading was not usable."""
        self._refused.add(model)

    def failed(self, model: str, reason: str) -> None:
        """Record that a model gave no usable reply; from the second time on, it gets a pause."""
        times = 1 + (self._failures[model].times if model in self._failures else 0)
        rest = 0 if times == 1 else min(FIRST_REST_S * 2 ** (times - 2), LONGEST_REST_S)
        self._failures[model] = _FailuresInARow(times, self._clock() + rest, reason)

    def succeeded(self, model: str) -> None:
        """Record that a model gave a usable reply."""
        self._failures.pop(model, None)

    def why_not(self, model: str) -> str:
        """The reason for not asking a model now; empty if it may be asked."""
        failure = self._failures.get(model)
        return failure.reason if failure and self._clock() < failure.until else ""


@dataclass(frozen=True, slots=True)
class ModelTopicJudge:
    """Asks a chat model about new and changed topics; satisfies `TopicJudge`.

    A model that is known to be fast reads the whole chat instead. If its reply fails the checks,
    it is asked the short question, this time and from then on.
    """

    model: ChatModel
    embedder: Embedder  # gives the messages' vectors; preferably cached
    pace: Pace

    async def judged(
        self,
        found: Extraction,
        messages: Sequence[Message],
        *,
        previous: Previous,
        insists: bool = False,
    ) -> Extraction:
        """See `TopicJudge`."""
        readable = [message for message in messages if is_readable(message)]
        wanted = _unnamed(found.topics, readable, previous)
        statements = _statements(readable, found, previous)
        if not wanted and not statements:
            return found
        if not insists and (reason := self.pace.why_not(self.model.name)):
            raise ExtractionFailed(reason)
        try:
            judged = await self._whole_reading(found, readable, previous)
            if judged is None:
                judged = await self._named(found, readable, wanted, statements, previous)
        except ModelFailed as failure:
            reason = f"{self.model.name} did not answer: {failure}"
            self.pace.failed(self.model.name, reason)
            raise ExtractionFailed(reason) from failure
        except ReplyUnusable as fault:
            reason = f"{self.model.name} gave no names for the topics ({fault}). {_ANOTHER}"
            self.pace.failed(self.model.name, reason)
            raise ExtractionFailed(reason) from fault
        self.pace.succeeded(self.model.name)
        typed = " ".join(m.text[:MOST_READ] for m in readable if m.role == "user")
        is_fit = _main_script(typed) in ("", *_scripts(judged.title))
        return judged if is_fit else replace(judged, title="")

    async def _whole_reading(
        self, found: Extraction, messages: Sequence[Message], previous: Previous
    ) -> Extraction | None:
        """The topics from a reading of the whole chat; `None` if it is slow or fails the checks."""
        count = sum(tokens(message.text) + LINE_TOKENS for message in messages)
        if count > MAX_PROMPT_TOKENS or not self.pace.allows(self.model.name, count):
            return None
        prompt = await asyncio.to_thread(
            extraction_prompt, messages, previous=found.topics, max_tokens=MAX_PROMPT_TOKENS
        )
        reply = await self.model.complete(prompt.messages, json_reply=True)
        return await asyncio.to_thread(
            self._proven, reply.text, found, messages, previous, prompt.shown_share
        )

    def _proven(
        self,
        reply: str,
        found: Extraction,
        messages: Sequence[Message],
        previous: Previous,
        shown_share: float = 1,
    ) -> Extraction | None:
        """The topics of a reading that covers the chat and splits no topic; otherwise `None`."""
        try:
            read = parsed_reply(reply, messages, shown_share=shown_share)
        except ReplyUnusable:
            read = Extraction()
        covered = {message_id for topic in read.topics for message_id in topic.message_ids}
        known = {message_id for topic in found.topics for message_id in topic.message_ids}
        if len(covered & known) < _COVERED * len(known) or _is_torn(found.topics, read.topics):
            self.pace.refuse(self.model.name)
            return None
        named = tuple(replace(topic, named=len(topic.message_ids)) for topic in read.topics)
        return reconciled(replace(read, topics=named), previous, messages)

    async def _named(
        self,
        found: Extraction,
        messages: Sequence[Message],
        wanted: Sequence[Topic],
        statements: Sequence[Message],
        previous: Previous,
    ) -> Extraction:
        """The topics with names by the model, all asked for in one request."""
        members = await self._members(found.topics, messages)
        asked = [members[topic.id] for topic in wanted]
        lines = await asyncio.to_thread(lambda: [lines_of(one.messages, one.rows) for one in asked])
        former = [topic.label for topic in wanted]
        request = question(
            list(zip(former, lines, strict=True)),
            language=main_language([text for one in asked for text in one.texts]),
            others=[topic.label for topic in found.topics if topic not in wanted],
            statements=[message.text for message in statements],
        )
        begun = time.monotonic()
        reply = await self.model.complete(request.messages, json_reply=request.schema)
        size = sum(tokens(text_of(message)) for message in request.messages)
        self.pace.took(self.model.name, size, time.monotonic() - begun)
        try:
            said = parsed_judgement(reply.text, groups=len(lines), statements=len(statements))
        except ReplyUnusable:  # some models list the messages of topics, even if asked for names
            if read := await asyncio.to_thread(self._proven, reply.text, found, messages, previous):
                return read
            raise
        names = list(dict.fromkeys([*map(clean_label, said.names.values()), *former]))
        rows = at_unit_length(await self.embedder.embed(names))
        verdict = _Verdict(
            order={message.id: place for place, message in enumerate(messages)},
            asked=wanted,
            members=members,
            meaning=dict(zip(names, rows, strict=True)),
        )
        judged = await asyncio.to_thread(verdict.on, found, said, previous)
        sticky = {*found.sticky_ids, *(statements[number - 1].id for number in said.standing)}
        ids = tuple(message.id for message in messages if message.id in sticky)
        return replace(judged, sticky_ids=ids, title=said.title)

    async def _members(
        self, topics: Sequence[Topic], messages: Sequence[Message]
    ) -> dict[str, Members]:
        """The members of each topic that has some, by its id."""
        known = {message.id: message for message in messages}
        each = {t.id: [known[i] for i in t.message_ids if i in known] for t in topics}
        rows = await self.embedder.embed([m.text for some in each.values() for m in some])
        ends = np.cumsum([len(some) for some in each.values()])[:-1]
        parts = np.split(at_unit_length(rows), ends)
        found = zip(each.items(), parts, strict=True)
        return {name: Members(messages=m, rows=part) for (name, m), part in found if m}


def _unnamed(
    topics: Sequence[Topic], messages: Sequence[Message], previous: Previous
) -> list[Topic]:
    """The largest topics that a model has not named, or named at half their size or less.

    Topics that the user has named or picked are left out.
    """
    known = {message.id for message in messages}
    wanted = (
        topic
        for topic in topics
        if not known.isdisjoint(topic.message_ids)
        and len(topic.message_ids) >= _GROWN * topic.named
        and topic.label not in previous.fixed_labels
    )
    return sorted(wanted, key=lambda topic: -len(topic.message_ids))[:MOST_GROUPS]


def _statements(
    messages: Sequence[Message], found: Extraction, previous: Previous
) -> list[Message]:
    """The newest messages of the user that ask nothing and may hold for the whole chat."""
    start = next((n for n, m in enumerate(messages, 1) if m.id == previous.seen), 0)
    new = (
        message
        for message in messages[start:]
        if message.role == "user"
        and message.id not in found.sticky_ids
        and 0 < len(message.text.strip()) <= _LONGEST_STATEMENT
        and _ASKS.isdisjoint(message.text)
        and not is_courtesy(message.text)
    )
    return list(new)[-MOST_STATEMENTS:]


def _is_torn(found: Sequence[Topic], read: Sequence[Topic]) -> bool:
    """True if a reading splits a topic that was found, or joins too many of them."""
    owner = {message_id: n for n, topic in enumerate(read) for message_id in topic.message_ids}
    tops = [topic for topic in found if not topic.parent_id]
    owners = [Counter(owner[i] for i in topic.message_ids if i in owner) for topic in tops]
    most = [counts.most_common(1)[0] for counts in owners if counts]
    parted = sum(
        share < _TOGETHER * counts.total()
        for counts, (_, share) in zip(filter(None, owners), most, strict=True)
    )
    return parted > 0 or len({number for number, _ in most}) < _TOGETHER * len(tops)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """Decides which of a model's names are accepted."""

    order: Mapping[MessageId, int]  # the places of the chat's messages
    asked: Sequence[Topic]  # the topics that were asked about; the model's numbers count from 1
    members: Mapping[str, Members]  # the messages of each topic that has some, by its id
    meaning: Mapping[str, Matrix]  # the embedding of each name, cleaned, and of the previous ones

    def on(self, found: Extraction, said: Judgement, previous: Previous) -> Extraction:
        """The topics with the accepted names; two topics with the same name may be merged."""
        topics = {topic.id: topic for topic in found.topics}
        holders = {label_key(topic.label): topic.id for topic in found.topics}
        holders[label_key(STICKY_LABEL)] = ""
        for number, topic in enumerate(self.asked, 1):
            topics[topic.id] = replace(topic, named=len(topic.message_ids))
            text = said.names.get(number, "")
            label = clean_label(text)
            if not self._fits(text, label, topic):
                continue
            holder = holders.setdefault(label_key(label), topic.id)
            if holder == topic.id:
                topics[topic.id] = replace(topics[topic.id], label=label)
            elif holder in topics and self._is_one(topic, topics[holder], found, previous):
                topics[holder] = self._joined(topics[holder], topics.pop(topic.id))
        return replace(found, topics=tuple(topics.values()))

    def _fits(self, text: str, label: str, topic: Topic) -> bool:
        """True for a short name that fits the messages of its topic, and those of no other topic.

        - Enough of its words occur in the messages (see `Members.say`), but it does not copy one.
        - It adds a word with a meaning, and does more than extend a name of several words.
        - It shares a word with the previous name. If not, it is no farther from the messages;
          and if half of them have a word of the previous name, half have a word of this one.
        - It is clearly nearer to the messages than to those of other topics. If it is only about
          as near, it has a word of the messages, and no other topic has all of its words.
        - It is no question, no sentence, and no courtesy.
        """
        asks = not _ASKS.isdisjoint(text) or not _is_noun(label)
        if not label or asks or len(text.strip()) > LONGEST_LABEL or is_courtesy(label):
            return False
        own = self.members[topic.id]
        words = [word for word in label.lower().split() if not is_small_word(word)]
        said, former = frozenset(content_words(label)), frozenset(content_words(topic.label))
        only_adds = len(former) > 1 and former < said
        if len(words) > _MOST_WORDS or only_adds or not own.say(label) or own.are_copied_by(label):
            return False
        weak = weak_words_of().get(own.language or "en", frozenset())
        adds_nothing = all(word in weak or stem(word) in former for word in words)
        is_rarer = said.isdisjoint(former) and own.have(former) and not own.have(said)
        if adds_nothing or is_rarer:
            return False
        family = {topic.id, topic.parent_id} | {t.id for t in self.asked if t.parent_id == topic.id}
        others = [members for name, members in self.members.items() if name not in family]
        near = self._near(label, own)
        nearest = max((self._near(label, other) for other in others), default=_ALONE)
        is_far = near < self._near(topic.label, own) - _MARGIN and said.isdisjoint(former)
        if is_far or near < nearest - _MARGIN:
            return False
        is_own = said & own.words and not any(said <= other.words for other in others)
        return near >= nearest + _MARGIN or bool(is_own)

    def _near(self, label: str, members: Members) -> float:
        """The cosine of a label with the centre of messages."""
        return float(self.meaning[label] @ members.centre)

    def _is_one(self, one: Topic, other: Topic, found: Extraction, previous: Previous) -> bool:
        """True if two topics with the same name may be merged.

        They are similar parts of the same wider topic, or both at the top, and have no messages
        that the user put back; the user has not deleted the other one.
        """
        wholes = {topic.parent_id for topic in found.topics}
        return (
            one.id not in wholes
            and one.parent_id == other.parent_id
            and other.label not in previous.deleted_labels
            and previous.settled.isdisjoint((*one.message_ids, *other.message_ids))
            and other.id in self.members
            and float(self.members[one.id].centre @ self.members[other.id].centre) >= _ONE_SUBJECT
        )

    def _joined(self, kept: Topic, gone: Topic) -> Topic:
        ids = sorted({*kept.message_ids, *gone.message_ids}, key=lambda i: self.order.get(i, 0))
        return replace(kept, message_ids=tuple(ids), count=len(ids), named=len(ids))


def _is_noun(label: str) -> bool:
    """False for a sentence in Korean, which ends in a verb, or a question in Chinese."""
    last = label.rpartition(" ")[2].lstrip("0123456789")
    if is_korean(last):
        return bool(korean_noun(last))
    return not UNSPACED_RUN.search(label) or (begins_phrase(label) and ends_phrase(label))


def _scripts(text: str) -> Counter[str]:
    """The number of letters of each script in a text; Japanese ones count as Chinese."""
    first = (unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    return Counter("CJK" if name in _JAPANESE else name for name in first)


def _main_script(text: str) -> str:
    return next((name for name, _ in _scripts(text).most_common(1)), "")
