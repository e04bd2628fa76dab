"""The atlas as clients get it: themes and topics with their chats, numbers and times."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.topics.atlas.values import NO_TIME, Archive, ChatTopic, Places, Seconds, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span of time, both ends included."""

    since: int | None = None  # seconds since 1970; `None` is no limit
    until: int | None = None  # the same

    @property
    def is_limited(self) -> bool:
        """True if messages without a time are left out, as their time is not known."""
        return self.since is not None or self.until is not None

    def holds(self, times: Seconds) -> NDArray[np.bool_]:
        """For each time, whether it lies in the span."""
        inside = np.ones(len(times), dtype=bool)
        if self.is_limited:
            inside &= times != NO_TIME
        if self.since is not None:
            inside &= times >= self.since
        if self.until is not None:
            inside &= times <= self.until
        return inside


@dataclass(frozen=True, slots=True)
class _Part:
    """A chat topic with its messages that are counted."""

    topic: ChatTopic
    places: Places
    times: Seconds


def places_in(archive: Archive, topic: ChatTopic, span: Span) -> Places:
    """The messages of a chat topic in a span of time, by their places in the chat."""
    if not span.is_limited:
        return topic.places
    times = archive.chats[topic.key[0]].times[topic.places]
    return topic.places[span.holds(times)]


def account(
    archive: Archive,
    titles: Mapping[ChatId, str],
    *,
    span: Span,
    chosen: Sequence[str] | None = None,
    limit: int | None = None,
) -> JsonObject:
    """The themes and topics with messages in a span of time.

    Args:
        titles: The chats' titles; a chat without one is left out, as it was deleted.
        chosen: The ids of the topics to show, in their order; by default all, the largest first.
        limit: The most topics that are listed; the numbers are of all.
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
        "topics": [_row(topics[id_], parts[id_], counts[id_], titles) for id_ in shown],
        **_numbers([part for id_ in order for part in parts[id_]]),
    }


def _parts(archive: Archive, topic: Topic, titles: Mapping[ChatId, str], span: Span) -> list[_Part]:
    found = []
    for key in topic.members:
        chat_topic = archive.chat_topics.get(key)
        if chat_topic is None or key[0] not in titles:
            continue
        places = places_in(archive, chat_topic, span)
        if len(places):
            found.append(_Part(chat_topic, places, archive.chats[key[0]].times[places]))
    return found


def _count(parts: Iterable[_Part]) -> int:
    """The number of distinct messages."""
    of_chat: dict[ChatId, list[Places]] = defaultdict(list)
    for part in parts:
        of_chat[part.topic.key[0]].append(part.places)
    return sum(
        len(found[0]) if len(found) == 1 else len(np.unique(np.concatenate(found)))
        for found in of_chat.values()
    )


def _numbers(parts: Sequence[_Part]) -> JsonObject:
    chats = {part.topic.key[0] for part in parts}
    return {"chats": len(chats), "messages": _count(parts)}


def _row(
    topic: Topic, parts: Sequence[_Part], count: int, titles: Mapping[ChatId, str]
) -> JsonObject:
    chats = [
        {
            "chat_id": part.topic.key[0],
            "title": titles[part.topic.key[0]],
            "topic_id": part.topic.key[1],
            "label": part.topic.label,
            "messages": len(part.places),
            **_ends(part.times),
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


def stamp(seconds: int) -> str:
    """A time in seconds since 1970 as `2026-01-31T09:30:00Z`."""
    return f"{np.datetime64(seconds, 's')}Z"
