"""Gives topics ids that they keep, so that a bubble keeps its place and its colour."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from smart_context.topics.values import Topic

HUES = 12
"""How many hues there are; `tokens.css` names each."""

_SAME_MESSAGES = 0.5
_ATTEMPTS = 64


def with_ids(topics: Sequence[Topic], known: Sequence[Topic] = ()) -> tuple[Topic, ...]:
    """The same topics, each with an id of its own.

    A topic keeps its id; one without takes over that of the known topic that has its label, or
    else that shares at least half of its messages. What is left gets a new one.

    Args:
        topics: As they were found or edited.
        known: The chat's topics before.
    """
    given: dict[int, str] = {}
    taken: set[str] = set()

    def give(place: int, topic_id: str) -> None:
        if topic_id and place not in given and topic_id not in taken:
            given[place] = topic_id
            taken.add(topic_id)

    ids = {_folded(topic.label): topic.id for topic in reversed(known) if topic.id}
    for place, topic in enumerate(topics):
        give(place, topic.id)
    for place, topic in enumerate(topics):
        give(place, ids.get(_folded(topic.label), ""))
    for _, place, topic_id in sorted(_overlaps(topics, known), reverse=True):
        give(place, topic_id)
    for place, topic in enumerate(topics):
        give(place, new_id(topic.label, taken))
    parents = {topic.id or topic.label: given[place] for place, topic in enumerate(topics)}
    return tuple(
        replace(topic, id=given[place], parent_id=parents.get(topic.parent_id, ""))
        for place, topic in enumerate(topics)
    )


def new_id(label: str, taken: Iterable[str]) -> str:
    """An id made of the label, whose hue differs from those of the ids that are taken."""
    ids = set(taken)
    hues = [hue_of(topic_id) for topic_id in ids]
    fewest = min(map(hues.count, range(HUES)))
    made = [f"t{fnv1a(f'{label}#{n}' if n else label):08x}" for n in range(_ATTEMPTS)]
    free = [candidate for candidate in made if candidate not in ids] or [f"t{len(ids)}-{label}"]
    return next((one for one in free if hues.count(hue_of(one)) == fewest), free[0])


def hue_of(topic_id: str) -> int:
    """The hue of a topic. The page's script computes the same (`static/cloud/hues.js`)."""
    return fnv1a(topic_id) % HUES


def fnv1a(text: str) -> int:
    """A 32-bit hash of the text's UTF-8, the same in every program."""
    mark = 0x811C9DC5
    for byte in text.encode(errors="replace"):
        mark = ((mark ^ byte) * 0x01000193) & 0xFFFFFFFF
    return mark


def _overlaps(topics: Sequence[Topic], known: Sequence[Topic]) -> list[tuple[float, int, str]]:
    """How much topics share with known ones: the share, the topic's place, the known one's id."""
    found = []
    for place, topic in enumerate(topics):
        mine = set(topic.message_ids)
        for former in known:
            both, either = mine & set(former.message_ids), mine | set(former.message_ids)
            if both and len(both) >= _SAME_MESSAGES * len(either):
                found.append((len(both) / len(either), place, former.id))
    return found


def _folded(label: str) -> str:
    return label.strip().casefold()
