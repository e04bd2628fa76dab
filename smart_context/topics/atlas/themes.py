"""Gathers the topics of the atlas into themes."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from smart_context.llm.models import Matrix
from smart_context.topics.atlas.identity import stable_ids
from smart_context.topics.atlas.linkage import Weights, linked
from smart_context.topics.atlas.names import theme_labels
from smart_context.topics.atlas.values import Atlas, Key, Theme
from smart_context.topics.clusters.unit_length import at_unit_length

MOST_SHARE = 0.3
"""The most of all messages in a theme of several topics, when it is made."""

_MOST_THEMES = 24
_AT_A_GLANCE = 8
"""More themes than that are made fewer; these only where their topics are near to each other."""

_NEAR = 0.25
"""The least mean cosine of topics that share a theme without need: unlike ones of the demonstration
have up to .17."""

_MOST_COMPARED = 2_000


def themed(
    atlas: Atlas, before: Atlas, rows: Mapping[Key, Matrix], sizes: Mapping[Key, int]
) -> Atlas:
    """The atlas with a theme for each topic.

    Topics keep their theme until all are compared with all again; new ones join the nearest.

    Args:
        atlas: Topics without a theme.
        rows: The unit rows of the chat topics, as they are compared.
        sizes: The number of messages of each chat topic.
    """
    if not atlas.topics:
        return replace(atlas, themes=())
    centres = at_unit_length(
        np.array([np.mean([rows[key] for key in topic.members], axis=0) for topic in atlas.topics])
    )
    weights = np.array([sum(sizes[key] for key in each.members) for each in atlas.topics], float)
    known = {topic.id: topic.theme for topic in before.topics}
    numbers = {theme.id: n for n, theme in enumerate(before.themes)}
    stands = atlas.merged == before.merged
    standing = [
        numbers.get(known.get(topic.id, ""), -1) if stands else -1 for topic in atlas.topics
    ]
    return _with_themes(atlas, before, _grouped(centres, weights, standing), weights)


def _grouped(centres: Matrix, weights: Weights, standing: Sequence[int]) -> list[int]:
    groups = np.array(standing, dtype=np.intp)
    most = MOST_SHARE * weights.sum()
    if (groups < 0).all():
        largest = np.argsort(-weights, kind="stable")[:_MOST_COMPARED]
        fewest = min(_MOST_THEMES, max(1, round(math.sqrt(len(largest)))))
        groups[largest] = linked(
            centres[largest],
            _NEAR,
            weights=weights[largest],
            most=most,
            fewest=fewest,
            enough=max(_AT_A_GLANCE, fewest),
        )
    held = groups >= 0
    load = np.bincount(groups[held], weights[held])
    sums = np.zeros((len(load), centres.shape[1]), dtype=np.float32)
    np.add.at(sums, groups[held], centres[held])
    for place in np.flatnonzero(~held):
        likeness = at_unit_length(sums) @ centres[place]
        likeness[load + weights[place] > most] = -np.inf
        best = int(likeness.argmax())
        least = _NEAR if len(load) < _AT_A_GLANCE else -np.inf
        if likeness[best] == -np.inf or likeness[best] < least:
            best = len(load)
            sums, load = np.vstack((sums, np.zeros_like(sums[:1]))), np.append(load, 0.0)
        groups[place] = best
        sums[best] += centres[place]
        load[best] += weights[place]
    return [int(group) for group in groups]


def _with_themes(atlas: Atlas, before: Atlas, groups: Sequence[int], weights: Weights) -> Atlas:
    members: dict[int, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        members[group].append(place)
    former: dict[str, list[Key | str]] = defaultdict(list)
    for topic in before.topics:
        former[topic.theme].append(topic.id)
    ids = stable_ids([[atlas.topics[n].id for n in group] for group in members.values()], former)
    labels = theme_labels(
        [[(atlas.topics[n].label, int(weights[n])) for n in group] for group in members.values()]
    )
    theme_of = {n: id_ for id_, group in zip(ids, members.values(), strict=True) for n in group}
    topics = (replace(topic, theme=theme_of[n]) for n, topic in enumerate(atlas.topics))
    themes = (Theme(id=id_, label=label) for id_, label in zip(ids, labels, strict=True))
    return replace(atlas, topics=tuple(topics), themes=tuple(themes))
