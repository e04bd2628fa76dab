"""Merges chat topics into the topics of the atlas. Pure, incremental, with stable ids."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from smart_context.chat.messages import ChatId
from smart_context.topics.atlas.identity import stable_ids
from smart_context.topics.atlas.likeness import least_likeness, likeness_rows
from smart_context.topics.atlas.linkage import joined
from smart_context.topics.atlas.names import distinct_labels
from smart_context.topics.atlas.themes import themed
from smart_context.topics.atlas.values import Atlas, ChatTopic, Topic

_GROWTH = 1.5
"""All are compared with all again when there are so many times as many."""


def merged(
    chat_topics: Sequence[ChatTopic],
    before: Atlas,
    *,
    reads_all: bool,
    titles: Mapping[ChatId, str] | None = None,
) -> Atlas:
    """The atlas of these chat topics.

    Args:
        chat_topics: The n chat topics, in any order: it makes no difference.
        before: The atlas before; empty for a new one. Topics that stand keep their members, and
            what is new joins them or founds others, until there is half as much again.
        reads_all: The embedding model knows every language; else only English.
        titles: The titles of chats, which tell topics of one label apart.
    """
    ordered = sorted(chat_topics, key=lambda each: each.key)
    known = {key: place for place, topic in enumerate(before.topics) for key in topic.members}
    kept = [known.get(each.key, -1) for each in ordered]
    if not before.merged or not before.merged / _GROWTH <= len(ordered) < before.merged * _GROWTH:
        standing, compared = [-1] * len(ordered), len(ordered)
    else:
        standing, compared = kept, before.merged
    if before.topics and standing == kept and -1 not in kept and len(known) == len(ordered):
        return before
    rows = likeness_rows(ordered, reads_all=reads_all)
    groups = joined(rows, _numbered(standing), least_likeness(compared))
    members: dict[int, list[ChatTopic]] = defaultdict(list)
    for each, group in zip(ordered, groups, strict=True):
        members[group].append(each)
    ids = stable_ids(
        [[each.key for each in group] for group in members.values()],
        {topic.id: topic.members for topic in before.topics},
    )
    labels = distinct_labels(list(members.values()), _labels(ids, before), titles or {})
    topics = [
        Topic(id=id_, label=label, theme="", members=tuple(each.key for each in group))
        for id_, label, group in zip(ids, labels, members.values(), strict=True)
    ]
    places = {each.key: row for each, row in zip(ordered, rows, strict=True)}
    sizes = {each.key: len(each.places) for each in ordered}
    atlas = Atlas(topics=tuple(topics), themes=before.themes, merged=compared)
    return themed(atlas, before, places, sizes)


def _numbered(standing: Sequence[int]) -> list[int]:
    """The same groups, counted from 0 without gaps."""
    numbers = {group: n for n, group in enumerate(dict.fromkeys(g for g in standing if g >= 0))}
    return [numbers.get(group, -1) for group in standing]


def _labels(ids: Sequence[str], before: Atlas) -> list[str]:
    known = {topic.id: topic.label for topic in before.topics}
    return [known.get(id_, "") for id_ in ids]
