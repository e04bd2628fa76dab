"""A user's edits of topics: renamed, deleted and added ones.

Extraction finds topics again after each answer; the edits are applied to what it finds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from smart_context.chat.messages import MessageId
from smart_context.plugin.choices.message_topics import MessageTopics, TopicName
from smart_context.topics.values import STICKY_LABEL, FixedTopics, Topic

MAX_LABEL_LENGTH = 200
MAX_EDITS = 256
MAX_SETTLED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicEdits:
    """A user's edits of one chat's topics."""

    # old label to new label; several old labels with one new label are merged
    renamed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    deleted: tuple[str, ...] = ()  # labels that are never shown
    added: tuple[str, ...] = ()  # labels that are always shown
    # messages that stay in their topic, since the user put them back
    settled: tuple[MessageId, ...] = ()
    # the user's facts about single messages
    messages: MessageTopics = field(default_factory=MessageTopics)

    @classmethod
    def from_dict(cls, document: object) -> "TopicEdits":
        """The edits from their JSON object; values of a wrong kind are ignored."""
        if not isinstance(document, Mapping):
            return cls()
        renamed = document.get("renamed")
        pairs = renamed.items() if isinstance(renamed, Mapping) else ()
        sound = [(old, new) for old, new in pairs if isinstance(new, str) and old and new]
        return cls(
            renamed=dict(sound[:MAX_EDITS]),
            deleted=_labels(document.get("deleted")),
            added=_labels(document.get("added")),
            settled=tuple(map(MessageId, _texts(document.get("settled")))),
            messages=MessageTopics.from_dict(document.get("messages")),
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON object to store."""
        return {
            "renamed": dict(self.renamed),
            "deleted": list(self.deleted),
            "added": list(self.added),
            **({"settled": list(self.settled)} if self.settled else {}),
            **({"messages": about} if (about := self.messages.to_dict()) else {}),
        }

    def rename(self, labels: Iterable[str], new: str) -> "TopicEdits":
        """Rename topics; several become one.

        Raises:
            ValueError: If the new label is not valid, or there are too many edits.
        """
        wanted = checked_label(new)
        gone = {_folded(label) for label in labels}
        renamed = {
            old: wanted if _folded(now) in gone else now for old, now in self.renamed.items()
        }
        renamed |= dict.fromkeys(labels, wanted)
        kept = {old: now for old, now in _without_renames_of(renamed, wanted).items() if old != now}
        same = {*gone, _folded(wanted)}
        added = (wanted if _folded(label) in same else label for label in self.added)
        return _bounded(
            replace(
                self,
                renamed=kept,
                deleted=_without(self.deleted, wanted),
                added=tuple(dict.fromkeys(added)),
            )
        )

    def delete(self, label: str) -> "TopicEdits":
        """Delete a topic, even if extraction finds it again."""
        deleted = tuple(dict.fromkeys((*self.deleted, label)))
        return _bounded(replace(self, deleted=deleted, added=_without(self.added, label)))

    def add(self, label: str) -> "TopicEdits":
        """Add a topic, even if extraction does not find it.

        Raises:
            ValueError: If the label is not valid, or there are too many edits.
        """
        wanted = checked_label(label)
        folded = _folded(wanted)
        known = (wanted if _folded(each) == folded else each for each in self.added)
        added = tuple(dict.fromkeys((*known, wanted)))
        return _bounded(
            replace(
                self,
                renamed=_without_renames_of(self.renamed, wanted),
                deleted=_without(self.deleted, wanted),
                added=added,
            )
        )

    def settle(self, ids: Iterable[MessageId]) -> "TopicEdits":
        """Let messages stay in their current topic; only the newest `MAX_SETTLED` are kept."""
        settled = tuple(dict.fromkeys((*self.settled, *ids)))
        return replace(self, settled=settled[-MAX_SETTLED:])

    def label_of(self, found: str) -> str:
        """The edited label of a topic that extraction calls `found`; empty if it is deleted."""
        names = {_folded(old): new for old, new in self.renamed.items()}
        label = names.get(_folded(found), found)
        is_gone = _folded(label) in {_folded(deleted) for deleted in self.deleted}
        return "" if is_gone else label

    def held(self, topics: Iterable[Topic]) -> FixedTopics:
        """The user's facts about single messages, by the current labels of these topics."""
        labels = {topic.id: topic.label for topic in topics if topic.id}

        def label_now(name: TopicName) -> str:
            return self.label_of(labels.get(name.id, name.label))

        return self.messages.held(label_now)

    def apply(self, topics: Sequence[Topic], order: Sequence[MessageId]) -> tuple[Topic, ...]:
        """The topics with the edits; added topics that were not found have a count of 0."""
        places = {message_id: place for place, message_id in enumerate(order)}
        groups: dict[str, list[Topic]] = {}
        key_of: dict[str, str] = {}
        for topic in topics:
            label = self.label_of(topic.label)
            if not label:
                continue
            key = key_of[topic.id or topic.label] = _folded(label)
            groups.setdefault(key, []).append(replace(topic, label=label))
        edited = {key: _merged(group, places) for key, group in groups.items()}
        for label in self.added:
            edited.setdefault(_folded(label), Topic(label=label, count=0))
        wholes = {old: edited[key] for old, key in key_of.items()}
        return tuple(_in_whole(topic, wholes.get(topic.parent_id)) for topic in edited.values())


def checked_label(label: str) -> str:
    """A label with its spaces normalised.

    Raises:
        ValueError: If it is empty, too long, or the name of the standing instructions.
    """
    wanted = " ".join(label.split())
    if not 0 < len(wanted) <= MAX_LABEL_LENGTH:
        raise ValueError(
            f"a label has 1 to {MAX_LABEL_LENGTH} characters, found {len(wanted)}; choose another"
        )
    if _folded(wanted) == _folded(STICKY_LABEL):
        raise ValueError(f"{STICKY_LABEL!r} is the name of the standing instructions")
    return wanted


def _in_whole(part: Topic, whole: Topic | None) -> Topic:
    """A topic as a part of a wider one, by the current id or label of that one."""
    parent_id = "" if whole is None or whole is part else whole.id or whole.label
    return part if parent_id == part.parent_id else replace(part, parent_id=parent_id)


def _merged(group: Sequence[Topic], places: Mapping[MessageId, int]) -> Topic:
    """One topic merged from several; it has the id of the largest, so its place and colour, too."""
    first, *others = group
    if not others:
        return first
    ids = {message_id for topic in group for message_id in topic.message_ids}
    has_all = all(topic.message_ids for topic in group)
    total = len(ids) if has_all else min(sum(t.count for t in group), max(len(places), 1))
    with_id = [topic for topic in group if topic.id]
    return Topic(
        label=first.label,
        count=total,
        message_ids=tuple(sorted(ids, key=lambda i: places.get(i, -1))),
        keywords=tuple(dict.fromkeys(word for topic in group for word in topic.keywords)),
        id=max(with_id, key=lambda topic: topic.count).id if with_id else "",
    )


def _without_renames_of(renamed: Mapping[str, str], label: str) -> dict[str, str]:
    """The renames except those of `label`; new labels equal to it but for case become `label`."""
    return {
        old: label if _folded(new) == _folded(label) else new
        for old, new in renamed.items()
        if _folded(old) != _folded(label) or _folded(new) == _folded(label)
    }


def _bounded(edits: TopicEdits) -> TopicEdits:
    if max(len(edits.renamed), len(edits.deleted), len(edits.added)) > MAX_EDITS:
        raise ValueError(f"expected at most {MAX_EDITS} edits of the topics of one chat")
    return edits


def _without(labels: Iterable[str], label: str) -> tuple[str, ...]:
    return tuple(kept for kept in labels if _folded(kept) != _folded(label))


def _folded(label: str) -> str:
    return label.strip().casefold()


def _texts(value: object) -> list[str]:
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, str)][-MAX_SETTLED:]


def _labels(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    sound = [v for v in value if isinstance(v, str) and 0 < len(v) <= MAX_LABEL_LENGTH]
    return tuple(dict.fromkeys(sound))[:MAX_EDITS]
