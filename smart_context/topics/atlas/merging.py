"""Merges chat topics into named topics of the atlas. Pure, incremental, with stable ids."""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.words import content_words
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.topics.atlas.subjects import NO_SUBJECTS, Subjects
from smart_context.topics.atlas.values import Atlas, AtlasTopic, ChatTopic, Hashes, Key, Theme
from smart_context.topics.clusters.units import (
    NEVER,
    Merge,
    Weights,
    at_unit_length,
    merges_of,
    roots,
)
from smart_context.topics.naming.labels import label_key

_MOST_COMPARED = 2_000
"""The most rows that are compared with each other at once; the others come in later turns."""

_JOINED_AT_ONCE = 256

Numbers = NDArray[np.intp]


def joined(rows: Matrix, standing: Sequence[int], least: float) -> list[int]:
    """The group of each row: rows with a group keep it, the others join or found one.

    Args:
        rows: Shape (n, d), unit rows.
        standing: The present group of each row, counted from 0; -1 for none.
        least: The least mean likeness to the rows of a group that a row joins.
    """
    groups = np.array(standing, dtype=np.intp)
    while (free := np.flatnonzero(groups < 0)).size:
        if groups.max(initial=-1) >= 0:
            free = _join(rows, groups, free, least)
        new = free[:_MOST_COMPARED]
        founded = linked(rows[new], least)
        groups[new] = founded + groups.max(initial=-1) + 1
    return [int(group) for group in groups]


def _join(rows: Matrix, groups: Numbers, free: Numbers, least: float) -> Numbers:
    """Let rows join the most similar group; returns the rows that join none."""
    held = np.flatnonzero(groups >= 0)
    count = int(groups.max()) + 1
    means = np.zeros((count, rows.shape[1]), dtype=np.float32)
    for start in range(0, len(held), _JOINED_AT_ONCE):
        block = held[start : start + _JOINED_AT_ONCE]
        np.add.at(means, groups[block], rows[block])
    sizes = np.maximum(np.bincount(groups[held], minlength=count), 1)
    means /= sizes.astype(np.float32)[:, None]
    left = []
    for start in range(0, len(free), _JOINED_AT_ONCE):
        block = free[start : start + _JOINED_AT_ONCE]
        likeness = rows[block] @ means.T
        best = likeness.argmax(axis=1)
        fits = likeness[np.arange(len(block)), best] >= least
        groups[block[fits]] = best[fits]
        left.append(block[~fits])
    return np.concatenate(left)


def linked(
    rows: Matrix,
    least: float,
    *,
    weights: Weights | None = None,
    most: float = np.inf,
    fewest: int = 1,
    enough: int | None = None,
) -> Numbers:
    """The group of each row, counted from 0 in the order of their first rows.

    The two most similar groups, by average likeness, are merged until no two reach `least`.

    Args:
        least: The least mean likeness of two groups that are merged.
        weights: The weight of each row; 1 by default.
        most: The largest weight of a group of several rows.
        fewest: Merging stops at this number of groups.
        enough: While there are more groups than this, groups below `least` are merged, too.
    """
    sizes = np.ones(len(rows)) if weights is None else weights
    links = np.asarray(rows @ rows.T, dtype=np.float32)
    links[sizes[:, np.newaxis] + sizes > most] = NEVER
    kept: list[Merge] = []
    for merge in merges_of(links, sizes, most):
        left = len(rows) - len(kept)
        is_unlike = merge.alike < least and (enough is None or left <= enough)
        if is_unlike or left <= fewest:
            break
        kept.append(merge)
    _, numbered = np.unique(roots(kept, len(rows)), return_inverse=True)
    return np.asarray(numbered, dtype=np.intp)


LONGEST = 80
_NAMELESS = "Unnamed"
_ADDED = re.compile(r"(?: \(.*|, .*| [0-9]+)?")


def distinct_labels(
    groups: Sequence[Sequence[ChatTopic]], before: Sequence[str], titles: Mapping[ChatId, str]
) -> list[str]:
    """A label for each group of chat topics: the one with the most messages.

    If two groups would have the same label, the smaller one takes its next most common one. If
    that is taken, too, it adds another label, the title of its largest chat, or a number.

    Args:
        before: The previous label of each group; empty for none. It stays while a chat topic has
            it, with the addition that made it distinct.
    """
    sizes = [sum(len(each.places) for each in group) for group in groups]
    chosen = [""] * len(groups)
    taken = _TakenLabels()
    order = sorted(range(len(groups)), key=lambda n: (not before[n], -sizes[n], n))
    for place in order:
        chosen[place] = taken.free(_candidates(groups[place], before[place], titles))
        taken.add(chosen[place])
    return chosen


def _candidates(group: Sequence[ChatTopic], before: str, titles: Mapping[ChatId, str]) -> list[str]:
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for each in group:
        label = shortened(each.label)
        if key := label_key(label):
            spelled.setdefault(key, label)
            counts[key] += len(each.places)
    common = [spelled[key] for key, _ in sorted(counts.items(), key=lambda e: (-e[1], e[0]))]
    kept = [before] if before and any(_is_of(before, label) for label in common) else []
    pairs = [f"{common[0]}, {other}" for other in common[1:4]]
    title = titles.get(max(group, key=lambda each: (len(each.places), each.key)).key[0], "")
    says_more = common and title.strip() and label_key(title) not in counts
    placed = [shortened(f"{common[0]} ({title})")] if says_more else []
    return [*kept, *common[:8], *pairs, *placed] or [_NAMELESS]


def _is_of(before: str, label: str) -> bool:
    """True if `before` is the label, or the label with an addition of `distinct_labels`.

    `Bread Baking` is no form of `Bread`: a person has chosen it.
    """
    rest = before.removeprefix(label)
    return before.startswith(label) and bool(_ADDED.fullmatch(rest))


class _TakenLabels:
    """The labels that are taken."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._numbers: dict[str, int] = {}

    def add(self, label: str) -> None:
        """Take a label."""
        self._keys.add(label_key(label))

    def free(self, candidates: Sequence[str]) -> str:
        """The first free candidate; if none is, the first one with the lowest free number."""
        for label in candidates:
            if label_key(label) not in self._keys:
                return label
        first = candidates[0]
        number = self._numbers.get(first, 2)  # lower numbers are taken
        while label_key(label := f"{first} {number}") in self._keys:
            number += 1
        self._numbers[first] = number
        return label


def shortened(label: str) -> str:
    """A label on one line, cut to 80 characters."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in label[: 4 * LONGEST]).split())
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1].rstrip()}…"


def theme_labels(groups: Sequence[Sequence[tuple[str, int]]], subjects: Sequence[str]) -> list[str]:
    """A distinct label for each theme, from its topics' labels and sizes, the largest first.

    A theme of several topics is named by the word that most of their labels share, or by its
    subject, or by its two largest topics.

    Args:
        subjects: The subject of each theme; empty if unknown.
    """
    taken = _TakenLabels()
    chosen: list[str] = []
    for group, subject in zip(groups, subjects, strict=True):
        labels = [label for label, _ in sorted(group, key=lambda entry: -entry[1])]
        named = [*_shared_word(labels), *filter(None, [subject]), ", ".join(labels[:2])]
        chosen.append(shortened(taken.free([*(named if len(labels) > 1 else []), *labels])))
        taken.add(chosen[-1])
    return chosen


def _shared_word(labels: Sequence[str]) -> list[str]:
    """The word that most labels, and at least two, have; spelled as in the first of them."""
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for label in labels:
        words = ((content_words(word), word.strip("()[],:;")) for word in label.split())
        found = {stems[0]: word for stems, word in words if len(stems) == 1}
        counts.update(found.keys())
        spelled = found | spelled
    common = counts.most_common(1)
    return [spelled[stem] for stem, count in common if count > 1 and 2 * count > len(labels)]


_WIDTH = 512
_MEANING_ENGLISH, _MEANING, _MEANING_UNREAD = 0.6, 0.8, 0.25
"""The weight of meaning; words have the rest. The vectors of a model that does not know a language
tell little more than which language it is."""

_FEW, _LEAST_OF_FEW = 10, 0.3
_MANY, _LEAST_OF_MANY = 2_000, 0.42
_BLOCK = 1_024
"""The number of rows made at once: an archive of 10,000 chats has some 30,000."""


def least_likeness(count: int) -> float:
    """The least mean likeness of the chat topics of one topic, among `count` chat topics.

    Among few, the most similar ones share a subject; among many, related subjects are as similar.
    """
    share = math.log(max(count, 1) / _FEW) / math.log(_MANY / _FEW)
    return _LEAST_OF_FEW + (_LEAST_OF_MANY - _LEAST_OF_FEW) * min(max(share, 0.0), 1.0)


def likeness_rows(topics: Sequence[ChatTopic], *, reads_all: bool) -> Matrix:
    """Shape (n, d + 512): unit rows; their dot product is the likeness of two chat topics.

    Args:
        topics: The n chat topics; words count by their rarity among them.
        reads_all: The embedding model knows every language; else only English.
    """
    if not topics:
        return np.zeros((0, 0), dtype=np.float32)
    width = max(len(each.vector) for each in topics)
    other = _MEANING if reads_all else _MEANING_UNREAD
    known, holding = np.unique(np.concatenate([each.words for each in topics]), return_counts=True)
    rarity = np.log(1 + len(topics) / holding)
    rows = np.zeros((len(topics), width + _WIDTH), dtype=np.float32)
    for start in range(0, len(topics), _BLOCK):
        some = topics[start : start + _BLOCK]
        block = rows[start : start + _BLOCK]
        for row, each in zip(block, some, strict=True):
            row[: len(each.vector)] = each.vector
        weight = np.array(
            [_MEANING_ENGLISH if each.language in {"", "en"} else other for each in some],
            dtype=np.float32,
        )[:, None]
        weight *= block.any(axis=1, keepdims=True)
        words = np.concatenate([each.words for each in some])
        counts = np.log1p(np.concatenate([each.counts for each in some]).astype(np.float32))
        weights = rarity[np.searchsorted(known, words)] * counts
        block[:, :width] = at_unit_length(block[:, :width]) * np.sqrt(weight)
        block[:, width:] = _projected(some, words, weights) * np.sqrt(1 - weight)
        block[:] = at_unit_length(block)
    return rows


def _projected(topics: Sequence[ChatTopic], words: Hashes, weights: Matrix) -> Matrix:
    """Shape (n, 512): the weighted words of all topics, by a fixed random projection."""
    mixed = words * np.uint32(2_654_435_761)
    signs = np.where(mixed >> np.uint32(31), 1.0, -1.0)
    row = np.repeat(np.arange(len(topics)), [len(each.words) for each in topics])
    places = row * _WIDTH + (mixed >> np.uint32(8)) % _WIDTH
    sums = np.bincount(places, signs * weights, len(topics) * _WIDTH)
    return at_unit_length(sums.reshape(len(topics), _WIDTH).astype(np.float32))


def stable_ids(
    groups: Sequence[Sequence[Key | str]], before: Mapping[str, Sequence[Key | str]]
) -> list[str]:
    """An id for each group: the previous one if most members are the same, otherwise a new one.

    A new id is a hash of the first member, so that the same archive gives the same ids.
    """
    former = {member: id_ for id_, members in before.items() for member in members}
    present = Counter(former[m] for group in groups for m in group if m in former)
    claims = sorted(
        (-count, place, id_)
        for place, group in enumerate(groups)
        for id_, count in Counter(former[m] for m in group if m in former).items()
        if 2 * count > present[id_]
    )
    ids = [""] * len(groups)
    taken: set[str] = set()
    for _, place, id_ in claims:
        if not ids[place] and id_ not in taken:
            ids[place] = id_
            taken.add(id_)
    taken |= before.keys()
    for place, group in enumerate(groups):
        if not ids[place]:
            ids[place] = _new_id(group, taken)
            taken.add(ids[place])
    return ids


def _new_id(group: Sequence[Key | str], taken: AbstractSet[str]) -> str:
    first = group[0] if isinstance(group[0], str) else "\0".join(group[0])
    salt = 0
    while True:
        text = f"{first}\0{salt}".encode("utf-8", "surrogatepass")
        id_ = hashlib.sha256(text).hexdigest()[:12]
        if id_ not in taken:
            return id_
        salt += 1


SubjectOf = Callable[[Iterable[Key]], str]

MOST_SHARE = 0.3
"""The largest share of all messages in a theme of several topics, when it is made."""

_MOST_THEMES = 24
_AT_A_GLANCE = 12
"""More themes than this are merged; fewer are merged only if their topics are close."""

_NEAR = 0.25
"""The least mean cosine of topics that share a theme while there are few themes. Topics of the
demonstration on different subjects have up to .17."""


def themed(
    atlas: Atlas,
    before: Atlas,
    rows: Mapping[Key, Matrix],
    sizes: Mapping[Key, int],
    subject_of: SubjectOf,
) -> Atlas:
    """The atlas with a theme for each topic.

    Topics keep their theme until all are compared with all again. New ones join the nearest theme,
    or found one: if none is close and there are few themes, or if all would get too large.

    Args:
        atlas: Topics without a theme.
        rows: The unit rows of the chat topics, as they are compared.
        subject_of: Gives the subject of chat topics; empty if unknown.
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
    groups = _grouped(centres, weights, standing)
    return _with_themes(atlas, before, groups, weights, subject_of)


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


def _with_themes(
    atlas: Atlas,
    before: Atlas,
    groups: Sequence[int],
    weights: Weights,
    subject_of: SubjectOf,
) -> Atlas:
    members: dict[int, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        members[group].append(place)
    former: dict[str, list[Key | str]] = defaultdict(list)
    for topic in before.topics:
        former[topic.theme].append(topic.id)
    ids = stable_ids([[atlas.topics[n].id for n in group] for group in members.values()], former)
    labels = theme_labels(
        [[(atlas.topics[n].label, int(weights[n])) for n in group] for group in members.values()],
        [
            subject_of([key for n in group for key in atlas.topics[n].members])
            for group in members.values()
        ],
    )
    theme_of = {n: id_ for id_, group in zip(ids, members.values(), strict=True) for n in group}
    topics = (replace(topic, theme=theme_of[n]) for n, topic in enumerate(atlas.topics))
    themes = (Theme(id=id_, label=label) for id_, label in zip(ids, labels, strict=True))
    return replace(atlas, topics=tuple(topics), themes=tuple(themes))


_GROWTH = 1.5
"""All are compared with all again when their number has grown or shrunk by this factor."""


def merged(
    chat_topics: Sequence[ChatTopic],
    before: Atlas,
    *,
    reads_all: bool,
    titles: Mapping[ChatId, str] | None = None,
    subjects: Subjects = NO_SUBJECTS,
) -> Atlas:
    """The atlas of these chat topics.

    Args:
        chat_topics: The n chat topics, in any order: it makes no difference.
        before: The previous atlas; empty for a new one. Its topics keep their members, and new
            chat topics join them or found others, until the number of chat topics has grown or
            shrunk by half.
        reads_all: The embedding model knows every language; else only English.
        titles: The titles of chats, added to labels to make them distinct.
        subjects: The subjects that themes may be named by.
    """
    ordered = sorted(chat_topics, key=lambda each: each.key)
    known = {key: place for place, topic in enumerate(before.topics) for key in topic.members}
    kept = [known.get(each.key, -1) for each in ordered]
    if not before.merged or not before.merged / _GROWTH <= len(ordered) < before.merged * _GROWTH:
        standing, compared = [-1] * len(ordered), len(ordered)
    else:
        standing, compared = kept, before.merged
    is_same = standing == kept and -1 not in kept and len(known) == len(ordered)
    if before.topics and is_same and _is_named_so(before, ordered, titles or {}):
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
        AtlasTopic(id=id_, label=label, theme="", members=tuple(each.key for each in group))
        for id_, label, group in zip(ids, labels, members.values(), strict=True)
    ]
    places = {each.key: row for each, row in zip(ordered, rows, strict=True)}
    sizes = {each.key: len(each.places) for each in ordered}
    atlas = Atlas(topics=tuple(topics), themes=before.themes, merged=compared)
    vectors = {each.key: each.vector for each in ordered}

    def subject_of(keys: Iterable[Key]) -> str:
        return subjects.of([vectors[key] for key in keys])

    return themed(atlas, before, places, sizes, subject_of)


def _is_named_so(
    before: Atlas, chat_topics: Sequence[ChatTopic], titles: Mapping[ChatId, str]
) -> bool:
    """True if `distinct_labels` gives the topics their present labels: no label has changed."""
    by_key = {each.key: each for each in chat_topics}
    groups = [[by_key[key] for key in topic.members] for topic in before.topics]
    labels = [topic.label for topic in before.topics]
    return distinct_labels(groups, labels, titles) == labels


def _numbered(standing: Sequence[int]) -> list[int]:
    """The same groups, counted from 0 without gaps."""
    numbers = {group: n for n, group in enumerate(dict.fromkeys(g for g in standing if g >= 0))}
    return [numbers.get(group, -1) for group in standing]


def _labels(ids: Sequence[str], before: Atlas) -> list[str]:
    known = {topic.id: topic.label for topic in before.topics}
    return [known.get(id_, "") for id_ in ids]
