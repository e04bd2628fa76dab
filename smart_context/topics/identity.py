"""Gives topics lasting ids, so that a bubble keeps its place and its colour."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain

from smart_context.topics.values import Topic

Colour = int | str

SHADES = 6
"""The number of shades of a hue, for parts of a topic."""

HUES = 12
"""The number of hues; `tokens.css` defines each."""

_STEPS_APART = [min(step, HUES - step, HUES // 3) for step in range(HUES)]
"""For each difference of two hues, negative ones included: their steps apart around the circle."""

_SAME_MESSAGES = 0.5
_WORD = re.compile(r"\w+")
_MOST_HASHED = 200  # characters of a label
_ATTEMPTS = 1024
"""Candidates for an id; each has one of twelve hues, so one of them has the last free hue."""


def with_chosen_labels(
    topics: Sequence[Topic], chosen: AbstractSet[str], known: Sequence[Topic] = ()
) -> tuple[Topic, ...]:
    """The same topics; a label with the words of a chosen one in another order becomes that one.

    Args:
        known: The topics before; one with a chosen label keeps it.
    """
    kept = {topic.id: topic.label for topic in known if topic.id and topic.label in chosen}
    topics = [replace(topic, label=kept.get(topic.id, topic.label)) for topic in topics]
    found = dict.fromkeys(topic.label for topic in topics)
    left = {_words(label): label for label in chosen if label not in found}
    named = {label: left.pop(_words(label), label) for label in found}
    return tuple(
        replace(
            topic,
            label=named[topic.label],
            parent_id=named.get(topic.parent_id, topic.parent_id),  # a label until there is an id
        )
        for topic in topics
    )


def with_ids(topics: Sequence[Topic], known: Sequence[Topic] = ()) -> tuple[Topic, ...]:
    """The same topics, each with a unique id.

    A topic keeps its id. One without an id gets that of the known topic with the same label, or
    of the one that shares at least half of its messages; otherwise a new id.
    """
    given: dict[int, str] = {}
    taken: set[str] = set()
    hues, top_hues = Counter[int](), Counter[int]()

    def give(place: int, topic_id: str) -> None:
        if topic_id and place not in given and topic_id not in taken:
            given[place] = topic_id
            taken.add(topic_id)
            hues[hue_of(topic_id)] += 1
            top_hues[hue_of(topic_id)] += not topics[place].parent_id

    ids = {_folded(topic.label): topic.id for topic in reversed(known) if topic.id}
    for place, topic in enumerate(topics):
        give(place, topic.id)
    for place, topic in enumerate(topics):
        give(place, ids.get(_folded(topic.label), ""))
    for _, place, topic_id in sorted(_overlaps(topics, known), reverse=True):
        give(place, topic_id)
    for place, topic in enumerate(topics):
        if place not in given:
            beside = hues if topic.parent_id else top_hues
            give(place, new_topic_id(topic.label, taken, beside))
    parents = {topic.id or topic.label: given[place] for place, topic in enumerate(topics)}
    return tuple(
        replace(topic, id=given[place], parent_id=parents.get(topic.parent_id, ""))
        for place, topic in enumerate(topics)
    )


def new_topic_id(
    label: str, taken: AbstractSet[str] = frozenset(), beside: Mapping[int, int] | None = None
) -> str:
    """An id made from the label, with a hue as different from other topics' hues as possible.

    Args:
        taken: The ids of others.
        beside: For each hue, the number of topics shown next to it; none if left out.
    """
    short = label[:_MOST_HASHED]
    made = (f"t{fnv1a(f'{short}#{n}' if n else short):08x}" for n in range(_ATTEMPTS))
    free = (candidate for candidate in made if candidate not in taken)
    first = next(free, f"t{len(taken)}-{short}")
    wanted = most_unlike(beside or {})
    return next((one for one in chain((first,), free) if hue_of(one) in wanted), first)


def most_unlike(hues: Mapping[int, int]) -> list[int]:
    """The hues that are easiest to tell from others, given how many topics have each hue.

    Of hues that equally many topics have, those two steps from others come before those between
    them, and then the farthest ones; a third of the circle is far enough. So up to six topics are
    clearly different, and only more topics get neighbouring hues.
    """
    taken = [hue for hue, count in hues.items() if count]
    aligned = [sum(count for hue, count in hues.items() if hue % 2 == odd) for odd in (0, 1)]
    found = [
        (
            -hues.get(hue, 0),
            aligned[hue % 2],
            min((_STEPS_APART[hue - other] for other in taken), default=HUES // 3),
        )
        for hue in range(HUES)
    ]
    best = max(found)
    return [hue for hue, unlikeness in enumerate(found) if unlikeness == best]


def _stands_apart(hue: int, hues: Mapping[int, int]) -> bool:
    return not any(hues.get((hue + step) % HUES) for step in (-1, 0, 1))


def hue_of(topic_id: str) -> int:
    """The hue of a topic; the page computes the same in `static/cloud/hues.js`."""
    return fnv1a(topic_id) % HUES


def colours_of(topics: Iterable[tuple[str, str]]) -> dict[str, Colour]:
    """The colours of topics by id, as `data-hue` of the pages takes them.

    A part of a topic has its topic's hue with a shade: `7 s1`. A topic has the hue of its id,
    unless another topic has it or a neighbouring one; then it gets the hue that differs most.
    The page computes the same in `static/cloud/hues.js`.

    Args:
        topics: The id of each topic and that of its parent; the latter is empty at the top.
    """
    parents = dict(topics)
    hues = Counter[int]()
    chosen: dict[str, int] = {}
    of_ids = {one: hue_of(one) for one in sorted(parents) if parents[one] not in parents}
    for leaves_room in (True, False):
        for topic_id, own in of_ids.items():
            fits = _stands_apart(own, hues)
            if topic_id in chosen or (leaves_room and not fits):
                continue
            is_crowded = len(hues) >= HUES // 2
            fits = fits or (is_crowded and not hues[own])
            chosen[topic_id] = own if fits else most_unlike(hues)[0]
            hues[chosen[topic_id]] += 1
    colours: dict[str, Colour] = {**chosen}
    parts: Counter[str] = Counter()
    for topic_id in sorted(one for one in parents if parents[one] in parents):
        parent = parents[topic_id]
        colours[topic_id] = f"{colours.get(parent, hue_of(parent))} s{parts[parent] % SHADES + 1}"
        parts[parent] += 1
    return colours


def fnv1a(text: str) -> int:
    """A 32-bit hash of the text's UTF-8, the same in every program."""
    mark = 0x811C9DC5
    for byte in text.encode(errors="replace"):
        mark = ((mark ^ byte) * 0x01000193) & 0xFFFFFFFF
    return mark


def _overlaps(topics: Sequence[Topic], known: Sequence[Topic]) -> list[tuple[float, int, str]]:
    """The overlaps of topics with known ones: the share, the topic's index, the known id."""
    found = []
    for place, topic in enumerate(topics):
        mine = set(topic.message_ids)
        for previous in known:
            both, either = mine & set(previous.message_ids), mine | set(previous.message_ids)
            if both and len(both) >= _SAME_MESSAGES * len(either):
                found.append((len(both) / len(either), place, previous.id))
    return found


def _folded(label: str) -> str:
    return label.strip().casefold()


def _words(label: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_folded(label)) or [label])
