"""Finds topics of the atlas by words and by meaning."""

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from smart_context.base.text.words import content_words, words
from smart_context.llm.models import Matrix
from smart_context.topics.atlas.values import Archive, ChatTopic, Hashes, Topic
from smart_context.topics.clusters.units import at_unit_length

LEAST_NEARNESS = 0.25
"""The least cosine of a query and a topic, without what all topics have in common."""

_ALL_WORDS, _IN_LABEL = 0.5, 0.5
_PRIOR = 30.0


def hashes_of(found: Iterable[str]) -> Hashes:
    """The hashes of words."""
    return np.array([zlib.crc32(w.encode("utf-8", "surrogatepass")) for w in found], np.uint32)


def found_topics(archive: Archive, query: str, vector: Matrix) -> list[str]:
    """The ids of the topics that fit a query by its words or its meaning, best first.

    Args:
        query: The words; a topic fits if one of its chat topics has all of them.
        vector: Shape (d,): what they mean; zero if it is not known.
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


def _members(archive: Archive, topic: Topic) -> list[ChatTopic]:
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


def _share_in_label(topic: Topic, wanted: set[str]) -> float:
    return len(wanted & set(words(topic.label))) / len(wanted)
