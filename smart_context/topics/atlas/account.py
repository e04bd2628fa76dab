"""The atlas as clients get it: themes and topics with their counts, found by words and meaning."""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.words import content_words, words
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.topics.atlas.values import (
    NO_TIME,
    AtlasTopic,
    ChatTopic,
    Hashes,
    Places,
    Seconds,
    StoredAtlas,
)
from smart_context.topics.clusters.units import at_unit_length

LEAST_NEARNESS = 0.25
"""The least cosine of a query and a topic, after their common part with all topics is removed."""

_ALL_WORDS, _IN_LABEL = 0.5, 0.5
_PRIOR = 30.0
_DAY_S = 86_400
_QUARTER_S = 900
"""Time zones change their offset from UTC only at whole quarters of an hour."""
_KNOWN_QUARTERS = 4_102_444_800 // _QUARTER_S
"""The quarters up to the year 2100; later times come from wrong clocks."""


def hashes_of(found: Iterable[str]) -> Hashes:
    """The hashes of words."""
    return np.array([zlib.crc32(w.encode("utf-8", "surrogatepass")) for w in found], np.uint32)


def found_topics(archive: StoredAtlas, query: str, vector: Matrix) -> list[str]:
    """The ids of the topics that fit a query by its words or its meaning, best first.

    Args:
        query: The words; a topic fits if its label or one of its chat topics has all of them.
        vector: Shape (d,): the embedding of the query; zero if unknown.
    """
    topics = archive.atlas.topics
    wanted = content_words(query) or words(query)
    if not topics or not wanted:
        return []
    members = [_members(archive, topic) for topic in topics]
    near = _nearness(members, vector)
    hashes = hashes_of(dict.fromkeys(wanted))
    said = np.array([_share_said(found, hashes) for found in members])
    labels = np.array([_share_in_label(topic, set(wanted)) for topic in topics])
    fits = (said >= 1) | (labels >= 1) | (near >= LEAST_NEARNESS)
    scores = near + _ALL_WORDS * (said >= 1) + _IN_LABEL * labels
    order = np.lexsort((np.arange(len(topics)), -scores))
    return [topics[n].id for n in order if fits[n]]


def _members(archive: StoredAtlas, topic: AtlasTopic) -> list[ChatTopic]:
    return [archive.chat_topics[key] for key in topic.members if key in archive.chat_topics]


def _nearness(members: Sequence[Sequence[ChatTopic]], vector: Matrix) -> Matrix:
    centres = np.zeros((len(members), len(vector)), dtype=np.float32)
    for place, found in enumerate(members):
        for each in found:
            if len(each.vector) == len(vector):
                centres[place] += each.vector
    centres = at_unit_length(centres)
    common = centres.sum(axis=0) / (len(centres) + _PRIOR)
    return np.asarray(at_unit_length(centres - common) @ at_unit_length(vector - common))


def _share_said(members: Sequence[ChatTopic], hashes: Hashes) -> float:
    return max((float(np.isin(hashes, each.words).mean()) for each in members), default=0.0)


def _share_in_label(topic: AtlasTopic, wanted: set[str]) -> float:
    return len(wanted & set(words(topic.label))) / len(wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpan:
    """A span of time, both ends included."""

    since: int | None = None  # seconds since 1970; `None` is no limit
    until: int | None = None  # the same

    @property
    def is_limited(self) -> bool:
        """True if the span has an end; messages without a time are then left out."""
        return self.since is not None or self.until is not None

    def holds(self, times: Seconds) -> NDArray[np.bool_]:
        """For each time, True if it lies in the span."""
        inside = np.ones(len(times), dtype=bool)
        if self.is_limited:
            inside &= times != NO_TIME
        if self.since is not None:
            inside &= times >= self.since
        if self.until is not None:
            inside &= times <= self.until
        return inside


@dataclass(frozen=True, slots=True)
class _CountedTopic:
    """A chat topic with those of its messages that are counted."""

    topic: ChatTopic
    places: Places
    times: Seconds


def places_in(archive: StoredAtlas, topic: ChatTopic, span: TimeSpan) -> Places:
    """The messages of a chat topic in a span of time, by their places in the chat."""
    if not span.is_limited:
        return topic.places
    times = archive.chats[topic.key[0]].times[topic.places]
    return topic.places[span.holds(times)]


def account(
    archive: StoredAtlas,
    titles: Mapping[ChatId, str],
    *,
    span: TimeSpan,
    zone: tzinfo = UTC,
    chosen: Sequence[str] | None = None,
    limit: int | None = None,
) -> JsonObject:
    """The themes and topics with messages in a span of time.

    Args:
        titles: The chats' titles; a chat without one is left out, as it was deleted.
        zone: The reader's time zone, in which days are counted.
        chosen: The ids of the topics to show, in their order; by default all, the largest first.
        limit: The most topics that are listed; the counts include the others.
    """
    topics = {topic.id: topic for topic in archive.atlas.topics}
    parts = {
        id_: found
        for id_ in (topics if chosen is None else chosen)
        if (found := _parts(archive, topics[id_], titles, span))
    }
    counts = {id_: _count(found) for id_, found in parts.items()}
    order = list(parts)
    if chosen is None:
        order.sort(key=lambda id_: (-counts[id_], id_))
    shown = order if limit is None else order[:limit]
    of_theme: dict[str, list[str]] = defaultdict(list)
    for id_ in order:
        of_theme[topics[id_].theme].append(id_)
    listed = set(shown)
    themes = [
        {
            "id": theme.id,
            "label": theme.label,
            "topics": [id_ for id_ in of_theme[theme.id] if id_ in listed],
            **_numbers([part for id_ in of_theme[theme.id] for part in parts[id_]]),
        }
        for theme in archive.atlas.themes
        if not listed.isdisjoint(of_theme.get(theme.id, ()))
    ]
    return {
        "themes": sorted(themes, key=lambda theme: -int(str(theme["messages"]))),
        "topics": [_row(topics[id_], parts[id_], counts[id_], titles, zone) for id_ in shown],
        **_numbers([part for id_ in order for part in parts[id_]]),
    }


def _parts(
    archive: StoredAtlas, topic: AtlasTopic, titles: Mapping[ChatId, str], span: TimeSpan
) -> list[_CountedTopic]:
    found = []
    for key in topic.members:
        chat_topic = archive.chat_topics.get(key)
        if chat_topic is None or key[0] not in titles:
            continue
        places = places_in(archive, chat_topic, span)
        if len(places):
            found.append(_CountedTopic(chat_topic, places, archive.chats[key[0]].times[places]))
    return found


def _count(parts: Iterable[_CountedTopic]) -> int:
    """The number of distinct messages."""
    of_chat: dict[ChatId, list[Places]] = defaultdict(list)
    for part in parts:
        of_chat[part.topic.key[0]].append(part.places)
    return sum(
        len(found[0]) if len(found) == 1 else len(np.unique(np.concatenate(found)))
        for found in of_chat.values()
    )


def _numbers(parts: Sequence[_CountedTopic]) -> JsonObject:
    chats = {part.topic.key[0] for part in parts}
    return {"chats": len(chats), "messages": _count(parts)}


def _row(
    topic: AtlasTopic,
    parts: Sequence[_CountedTopic],
    count: int,
    titles: Mapping[ChatId, str],
    zone: tzinfo,
) -> JsonObject:
    chats = [
        {
            "chat_id": part.topic.key[0],
            "title": titles[part.topic.key[0]],
            "topic_id": part.topic.key[1],
            "label": part.topic.label,
            "colour": part.topic.colour,
            "messages": len(part.places),
            **_ends(part.times),
            "days": _days(part.times, zone),
        }
        for part in parts
    ]
    chats.sort(key=lambda chat: (chat["last_at"] or "", chat["chat_id"]), reverse=True)
    return {
        "id": topic.id,
        "label": topic.label,
        "theme": topic.theme,
        "chats": chats,
        "messages": count,
        **_ends(np.concatenate([part.times for part in parts])),
    }


def _ends(times: Seconds) -> JsonObject:
    known = times[times != NO_TIME]
    if not len(known):
        return {"first_at": None, "last_at": None}
    return {"first_at": stamp(int(known.min())), "last_at": stamp(int(known.max()))}


def _days(times: Seconds, zone: tzinfo) -> list[list[int]]:
    """For each day with messages, the days since 1970 and the number of its messages."""
    known = times[times != NO_TIME]
    days, counts = np.unique((known + _ahead(known, zone)) // _DAY_S, return_counts=True)
    return [[int(day), int(count)] for day, count in zip(days, counts, strict=True)]


def _ahead(times: Seconds, zone: tzinfo) -> Seconds:
    """The seconds by which a zone's clocks are ahead of UTC at each time."""
    if zone is UTC:
        return np.zeros_like(times)
    quarters = np.clip(times // _QUARTER_S, 0, _KNOWN_QUARTERS)
    each, places = np.unique(quarters, return_inverse=True)
    moments = (datetime.fromtimestamp(int(quarter) * _QUARTER_S, zone) for quarter in each)
    ahead = [moment.utcoffset() or timedelta() for moment in moments]
    return np.array([one.total_seconds() for one in ahead], dtype=np.int64)[places]


def stamp(seconds: int) -> str:
    """A time in seconds since 1970 as `2026-01-31T09:30:00Z`."""
    return f"{np.datetime64(seconds, 's')}Z"
