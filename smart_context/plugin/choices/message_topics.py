"""A person's facts about single messages: topics picked meanwhile, assigned, and ruled out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from smart_context.base.values import JsonObject
from smart_context.chat.documents.document import MOST_MESSAGES
from smart_context.chat.messages import MessageId
from smart_context.topics.values import FixedTopics

MOST_NAMES = 64


class TopicName(NamedTuple):
    """A topic that a person chose, with its label at that time; its id survives renames."""

    id: str  # empty for a typed topic, which the chat does not have
    label: str  # its label at that time, which finds it after a merge


NameOf = Callable[[TopicName], str]
"""Gives the current label of a topic; empty if it is deleted."""

Names = tuple[TopicName, ...]
Facts = Mapping[MessageId, Names]

_NONE: Facts = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTopics:
    """A person's facts about the topics of single messages of one chat."""

    # questions and answers, with the topics that were picked when they were said
    said: Facts = field(default_factory=lambda: _NONE)
    # messages with the topic that they are about; an empty tuple if they are about none
    about: Facts = field(default_factory=lambda: _NONE)
    # messages with the topics that they are not about
    not_about: Facts = field(default_factory=lambda: _NONE)

    @classmethod
    def from_dict(cls, document: object) -> "MessageTopics":
        """The facts from their JSON object; values of a wrong kind are ignored."""
        if not isinstance(document, Mapping):
            return cls()
        return cls(**{name: _facts(document.get(name)) for name in _FACTS})

    def to_dict(self) -> JsonObject:
        """The JSON object to store; messages with equal facts are grouped."""
        return {name: _grouped(facts) for name in _FACTS if (facts := getattr(self, name))}

    def say(self, ids: Iterable[MessageId], topics: Iterable[TopicName]) -> "MessageTopics":
        """Note that messages were said while topics were picked; earlier facts stay."""
        names = tuple(topics)
        said = {i: _joined(self.said.get(i, ()), names) for i in ids}
        return replace(self, said={**self.said, **said})

    def assign(self, ids: Iterable[MessageId], topic: TopicName | None) -> "MessageTopics":
        """Note that messages are about a topic, or about none; drop the topics picked meanwhile."""
        chosen = dict.fromkeys(ids, () if topic is None else (topic,))
        not_about = self.not_about
        if topic is not None:
            fewer = {i: _without(self.not_about.get(i, ()), (topic,)) for i in chosen}
            not_about = _filled({**not_about, **fewer})
        return replace(
            self,
            said={i: names for i, names in self.said.items() if i not in chosen},
            about={**self.about, **chosen},
            not_about=not_about,
        )

    def deny(self, ids: Iterable[MessageId], *topics: TopicName) -> "MessageTopics":
        """Note that messages are about none of these topics."""
        denied = list(ids)
        fewer = {i: _without(self.said.get(i, ()), topics) for i in denied}
        wrong = {i for i in denied if any(_is_in(topics, name) for name in self.about.get(i, ()))}
        more = {i: _joined(self.not_about.get(i, ()), topics) for i in denied}
        return replace(
            self,
            said=_filled({**self.said, **fewer}),
            about={i: names for i, names in self.about.items() if i not in wrong},
            not_about={**self.not_about, **more},
        )

    def renamed(self, ids: Mapping[MessageId, MessageId]) -> "MessageTopics":
        """The facts of messages copied into another chat, with their ids there."""
        return MessageTopics(
            **{
                name: {ids[i]: names for i, names in getattr(self, name).items() if i in ids}
                for name in _FACTS
            }
        )

    def held(self, label_of: NameOf) -> FixedTopics:
        """The facts by the topics' current labels; deleted topics are left out."""

        def now(facts: Facts) -> Iterator[tuple[MessageId, tuple[str, ...]]]:
            labels = {names: _labels(names, label_of) for names in set(facts.values())}
            return ((message_id, labels[names]) for message_id, names in facts.items())

        about = {i: labels for i, labels in now(self.about) if labels or not self.about[i]}
        apart = {i: frozenset(labels) for i, labels in now(self.not_about) if labels}
        said = {
            message_id: left
            for message_id, labels in now(self.said)
            if message_id not in about
            and (left := tuple(x for x in labels if x not in apart.get(message_id, ())))
        }
        return FixedTopics(said=said, about=about, apart=apart)


_FACTS = ("said", "about", "not_about")


def merged_topics(base: MessageTopics, theirs: MessageTopics, ours: MessageTopics) -> MessageTopics:
    """The facts with the changes of both sides; ours for a message that both changed."""

    def merged(before: Facts, others: Facts, own: Facts) -> Facts:
        if own == before:
            return others
        changed = {i for i in {*before, *own} if before.get(i) != own.get(i)}
        kept = {i: names for i, names in others.items() if i not in changed}
        return kept | {i: own[i] for i in own if i in changed}

    return MessageTopics(
        **{
            name: merged(getattr(base, name), getattr(theirs, name), getattr(ours, name))
            for name in _FACTS
        }
    )


def _joined(known: Names, more: Names) -> Names:
    joined = (*known, *(name for name in more if not _is_in(known, name)))
    return joined[:MOST_NAMES]


def _without(names: Names, topics: Names) -> Names:
    return tuple(name for name in names if not _is_in(topics, name))


def _is_in(names: Names, topic: TopicName) -> bool:
    return any(
        name.id == topic.id if name.id and topic.id else name.label == topic.label for name in names
    )


def _filled(facts: Facts) -> Facts:
    return {message_id: names for message_id, names in facts.items() if names}


def _labels(names: Names, label_of: NameOf) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(label_of, names))))


def _grouped(facts: Facts) -> list[JsonObject]:
    groups: dict[Names, list[MessageId]] = {}
    for message_id, names in facts.items():
        groups.setdefault(names, []).append(message_id)
    return [
        {"topics": [list(name) for name in names], "message_ids": ids}
        for names, ids in groups.items()
    ]


def _facts(value: object) -> Facts:
    found: dict[MessageId, Names] = {}
    for group in value if isinstance(value, list) else ():
        match group:
            case {"topics": [*topics], "message_ids": [*ids]}:
                names = tuple(islice(_names(topics), MOST_NAMES))
                found |= {MessageId(i): names for i in ids if isinstance(i, str) and i}
            case _:
                continue
    return dict(list(found.items())[-MOST_MESSAGES:])


def _names(entries: Sequence[object]) -> Iterator[TopicName]:
    for entry in entries:
        match entry:
            case [str(id_), str(label)] if label:
                yield TopicName(id_, label)
