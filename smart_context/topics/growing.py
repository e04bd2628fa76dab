"""The groups of a chat that has grown: the topics that it had, and those of new messages.

Topics that the user relies on stay. The rest of a short chat is grouped as if new each time.
Later it stays, too, unless a new grouping is clearly better. Long chats are not grouped again:
the time for that grows with the square of the messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.words import content_words
from smart_context.chat.messages import Message, MessageId
from smart_context.llm.models import Matrix
from smart_context.topics.clusters.grouping import SubjectMessages, most_of_one
from smart_context.topics.clusters.growth import NO_GROUP, QuestionUnits, grown
from smart_context.topics.clusters.units import (
    GroupNumbers,
    at_unit_length,
    hold_together,
    mean_directions,
    units_of,
)
from smart_context.topics.holding import centres_of, nearest_label
from smart_context.topics.values import MOST_READ, Previous, Topic

_FEW_MESSAGES, _FEW_UNITS = 4, 2

BEGUN, FIRST = 8, 60
"""Up to the first number of messages, all that the user does not rely on is always grouped again;
up to the second number, unless that splits a group."""

COMPARED = 300
"""A chat of more messages is not grouped again at each turn."""

_WORTH, _BESIDE = 0.25, 1.0
_CLEARLY, _CLEARLY_LATER = 0.05, 0.35
"""The least gain for each unit by a new grouping of a part of the chat, in the first messages and
later. Later it must gain more, since one more question may undo it."""

_NEAR = 0.35
"""The least cosine of the newest question, alone in the new grouping, and a unit that it joins."""

Places = tuple[int, ...]
"""The positions of the messages of a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingTopic:
    """The messages of a topic."""

    places: tuple[int, ...]  # their positions, ascending, those of its parts included
    parts: "tuple[GrowingTopic, ...]" = ()  # the narrower groups in it; empty if it has none
    before: Topic | None = None  # the topic that it was before; `None` for a new one


def is_grown(messages: Sequence[Message], previous: Previous) -> bool:
    """True if a chat had topics, and at most half of it is new since then."""
    known = {message_id for topic in previous.topics for message_id in topic.message_ids}
    count = sum(message.id in known for message in messages)
    new = len(messages) - _after(messages, previous.seen)
    return count > 0 and new <= max(len(messages) - new, count)


def is_followed(messages: Sequence[Message], previous: Previous) -> bool:
    """True if the chat's topics go on: it `is_grown`, or the user relies on one of them."""
    return is_grown(messages, previous) or any(
        topic.message_ids and previous.is_touched(topic) for topic in previous.topics
    )


def stays_as_it_grows(messages: Sequence[Message], previous: Previous) -> bool:
    """True if the chat's topics stay as they are: it is long, and it `is_grown`."""
    return len(messages) > COMPARED and is_grown(messages, previous)


def grown_groups(
    messages: Sequence[Message],
    spoken: Sequence[Message],
    said: SubjectMessages,
    previous: Previous,
    *,
    afresh: Sequence[Places],
    smallest: int,
    most: int,
) -> list[GrowingTopic]:
    """The groups of a chat, the largest first.

    Args:
        spoken: The messages that can have a topic.
        said: The same messages, with the features to compare them.
        afresh: The narrowest groups of the chat as if it were new; none if it
            `stays_as_it_grows`.
        smallest: The fewest messages of a new group.
        most: The largest number of groups at the top; more become parts of wider ones.
    """
    topics = previous.topics
    rows = said.rows()
    unit_of = units_of(said.goes_on)
    directions = mean_directions(rows, unit_of)
    own = _owners([message.id for message in spoken], topics)
    waits = _waiting(own, messages, spoken, previous)
    _join_held(own, spoken, previous, directions[unit_of])
    stays = _stays(own, previous, spoken)
    before = _of_units(own, unit_of, len(topics))
    units = QuestionUnits(
        rows=directions,
        bonus=said.bonus(directions, unit_of),
        sizes=np.bincount(unit_of),
        fixed=_any(stays, unit_of),
        points=_points(said, unit_of),
        new_from=_first_new(messages, spoken, unit_of, before, previous.seen),
        largest=most_of_one(len(spoken)),
        share=said.share_asked(directions),
    )
    if not is_grown(messages, previous):
        now = _put_right(afresh, own, stays, waits, spoken, previous)
    else:
        after = grown(units, before)
        keeps = stays | ((own != NO_GROUP) & (after[unit_of] == before[unit_of]))
        now = np.where(keeps, own, after[unit_of])
        now[_is_left_out(messages, spoken, said, previous, own, now)] = NO_GROUP
        if afresh and units.new_from < len(before):
            right = _put_right(afresh, own, stays, waits, spoken, previous)
            right = _with_lone_units(right, now, unit_of, units, stays)
            right[right >= len(topics)] += int(now.max()) + 1  # no number of the grown chat's
            if len(messages) > FIRST:
                right[now == NO_GROUP] = NO_GROUP
            free_from = _free_from(len(messages), units.new_from)
            now = _mended(units, before, now, right, unit_of, free_from)
    groups = _tree(now, topics, smallest, previous.fixed_labels)
    return sorted(
        _nested(groups, rows, most=most, largest=units.largest),
        key=lambda group: (-len(group.places), group.places),
    )


def _stays(own: GroupNumbers, previous: Previous, spoken: Sequence[Message]) -> NDArray[np.bool_]:
    """Shape (n,): True for messages in a topic that the user relies on, or that they put back."""
    touched = [n for n, topic in enumerate(previous.topics) if previous.is_touched(topic)]
    is_settled = np.array([message.id in previous.settled for message in spoken])
    return np.asarray(np.isin(own, touched) | (is_settled & (own != NO_GROUP)), dtype=np.bool_)


def _put_right(
    afresh: Sequence[Places],
    own: GroupNumbers,
    stays: NDArray[np.bool_],
    waits: NDArray[np.bool_],
    spoken: Sequence[Message],
    previous: Previous,
) -> GroupNumbers:
    """Shape (n,): the number of each message's new group; what the user relies on keeps its own.

    If a topic that the user relies on has most of a new group, the group's messages without a topic
    join it; messages of other topics never do. These, and other groups, become the topic of which
    they have most messages, or get a number above all topics if there is none. Messages that wait
    without a topic don't join one whose messages in the group are in it only because it was picked
    when they were said.
    """
    topics = previous.topics
    is_held = np.array([message.id in previous.held.within for message in spoken])
    touched = [n for n, topic in enumerate(topics) if previous.is_touched(topic)]
    now = np.where(stays, own, NO_GROUP)
    shares: list[tuple[int, int, int]] = []
    free: list[NDArray[np.intp]] = []
    for places in map(np.array, afresh):
        known = np.bincount(own[places] + 1, minlength=len(topics) + 1)[1:]
        rest = places[~stays[places]]
        host = max(touched, key=lambda n: (known[n], -n), default=NO_GROUP)
        if host != NO_GROUP and known[host] and known[host] >= np.delete(known, touched).sum():
            is_told = not is_held[places[own[places] == host]].all()
            new = rest[own[rest] == NO_GROUP]
            now[new if is_told else new[~waits[new]]] = host
            rest = rest[own[rest] != NO_GROUP]
            known = np.bincount(own[rest], minlength=len(topics))
        shares += [(-int(size), n, len(free)) for n, size in enumerate(known) if size]
        free.append(rest)
    number: dict[int, int] = {}
    for _, topic, group in sorted(shares):
        if topic not in touched and group not in number and topic not in number.values():
            number[group] = topic
    for group, rest in enumerate(free):
        now[rest] = number.get(group, len(topics) + group)
    return now


def _waiting(
    own: GroupNumbers, messages: Sequence[Message], spoken: Sequence[Message], previous: Previous
) -> NDArray[np.bool_]:
    """Shape (n,): True for messages that the last extraction put into no topic."""
    seen = {message.id for message in messages[: _after(messages, previous.seen)]}
    is_seen = np.array([message.id in seen for message in spoken], dtype=np.bool_)
    return np.asarray(is_seen & (own == NO_GROUP), dtype=np.bool_)


def _with_lone_units(
    right: GroupNumbers,
    now: GroupNumbers,
    unit_of: GroupNumbers,
    units: QuestionUnits,
    stays: NDArray[np.bool_],
) -> GroupNumbers:
    """The new groups, in which some lone units follow the groups of the grown chat.

    Units that wait in the grown chat wait here, too. The newest one joins the units that it joined
    there if it points back or is similar to one of them. Otherwise it waits, since only its place
    and the mean similarity support the join.
    """
    found = right.copy()
    sizes = np.bincount(right[_firsts(unit_of)] + 1, minlength=int(right.max()) + 2)
    is_alone = (sizes[right + 1] == 1) & (right != NO_GROUP) & ~stays
    found[is_alone & (now == NO_GROUP)] = NO_GROUP
    newest = unit_of == unit_of[-1]
    beside = (now == now[-1]) & ~newest & (right != NO_GROUP)
    if is_alone[-1] and now[-1] != NO_GROUP and beside.any() and unit_of[-1] >= _FEW_UNITS:
        nearest = (units.rows[unit_of[beside]] @ units.rows[-1]).max()
        is_one_of_them = units.points[-1] or nearest >= _NEAR
        found[newest] = np.bincount(right[beside]).argmax() if is_one_of_them else NO_GROUP
    return found


def _free_from(count: int, new_from: int) -> int:
    """The first unit that may leave its group without a gain, in a chat of `count` messages.

    -1 if even joining a new group takes a gain.
    """
    if count <= BEGUN:
        return 0
    return new_from if count <= FIRST else -1


def _mended(
    units: QuestionUnits,
    before: GroupNumbers,
    now: GroupNumbers,
    right: GroupNumbers,
    unit_of: GroupNumbers,
    free_from: int,
) -> GroupNumbers:
    """The groups of the grown chat, replaced by the new ones where these are better.

    Each part of the chat that the two divide differently is judged by itself. The new groups
    have to gain enough for each unit, unless they split no group of the units that are not free.
    """
    part_of = _parts(now, right)
    first, found = _firsts(unit_of), now.copy()
    clearly = _CLEARLY if free_from >= 0 else _CLEARLY_LATER
    for part in np.unique(part_of[now != right]):
        inside = part_of == part
        members = np.flatnonzero(inside[first])
        afresh, stays = right[first][members], members < free_from
        is_harmless = free_from >= 0 and not _takes_apart(before[members[stays]], afresh[stays])
        gain = _worth(units, members, afresh) - _worth(units, members, now[first][members])
        if is_harmless or gain > clearly * len(members):
            found[inside] = right[inside]
    return found


def _parts(now: GroupNumbers, right: GroupNumbers) -> GroupNumbers:
    """Shape (n,): the same number for messages of groups that overlap, or are one topic."""
    part = {int(number): int(number) for number in np.union1d(now, right)}
    for one, other in sorted(set(zip(now.tolist(), right.tolist(), strict=True))):
        if NO_GROUP not in (one, other):
            joined, gone = part[one], part[other]
            part = {n: joined if each == gone else each for n, each in part.items()}
    known = np.where(now == NO_GROUP, right, now)
    return np.array([part[number] for number in known.tolist()], dtype=np.intp)


def _takes_apart(before: GroupNumbers, after: GroupNumbers) -> bool:
    """True if the units of a group are no longer all in one group."""
    return any(
        len(set(after[before == group].tolist())) > 1
        for group in np.unique(before[before != NO_GROUP])
    )


def _worth(units: QuestionUnits, members: GroupNumbers, groups: GroupNumbers) -> float:
    """The sum, over pairs of units in one group, of their similarity less the least of a group.

    Neighbours in one group add their bonus.

    Args:
        members: Shape (m,), some units.
        groups: Shape (m,), their groups.
    """
    worth = 0.0
    for group in np.unique(groups[groups != NO_GROUP]):
        rows = units.rows[members[groups == group]]
        pairs = len(rows) * (len(rows) - 1)
        worth += pairs * (hold_together(rows) - units.share * _WORTH) / 2
    is_next = (groups[1:] == groups[:-1]) & (groups[1:] != NO_GROUP) & (np.diff(members) == 1)
    return worth + _BESIDE * float(units.bonus[members[1:][is_next] - 1].sum())


def _firsts(unit_of: GroupNumbers) -> GroupNumbers:
    """Shape (u,): the first message of each unit."""
    return np.flatnonzero(np.diff(unit_of, prepend=-1))


def _after(messages: Sequence[Message], seen: str) -> int:
    """The number of messages up to the one last seen; all of them if it is missing."""
    return next(
        (place + 1 for place, message in enumerate(messages) if message.id == seen), len(messages)
    )


def _first_new(
    messages: Sequence[Message],
    spoken: Sequence[Message],
    unit_of: GroupNumbers,
    before: GroupNumbers,
    seen: str,
) -> int:
    """The first unit whose messages all came after the last extraction."""
    old = {message.id for message in messages[: _after(messages, seen)]}
    if not any(message.id == seen for message in messages):
        return int(np.flatnonzero(before != NO_GROUP).max(initial=-1)) + 1
    last = max((place for place, message in enumerate(spoken) if message.id in old), default=-1)
    return int(unit_of[last]) + 1 if last >= 0 else 0


def _owners(ids: Sequence[MessageId], topics: Sequence[Topic]) -> GroupNumbers:
    """Shape (n,): the narrowest topic of each message, by number; `NO_GROUP` without one."""
    owner: dict[MessageId, int] = {}
    wholes = {topic.parent_id for topic in topics if topic.parent_id}
    narrow_first = sorted(
        range(len(topics)),
        key=lambda n: (topics[n].id in wholes, len(topics[n].message_ids), n),
    )
    for number in narrow_first:
        for message_id in topics[number].message_ids:
            owner.setdefault(message_id, number)
    return np.array([owner.get(each, NO_GROUP) for each in ids], dtype=np.intp)


def _join_held(
    own: GroupNumbers, spoken: Sequence[Message], previous: Previous, rows: Matrix
) -> None:
    """Give messages without a topic the nearest of the topics that were picked for them.

    Args:
        rows: Shape (n, d), equal for a question and its answers.
    """
    named = {topic.label: number for number, topic in enumerate(previous.topics)}
    within = previous.held.within
    centres = centres_of(
        rows, {label: np.flatnonzero(own == number) for label, number in named.items()}
    )
    for place in np.flatnonzero(own == NO_GROUP).tolist():
        labels = [label for label in within.get(spoken[place].id, ()) if label in named]
        if labels:
            own[place] = named[nearest_label(rows[place], labels, centres)]


def _of_units(own: GroupNumbers, unit_of: GroupNumbers, topics: int) -> GroupNumbers:
    """Shape (u,): the topic that most messages of each unit have."""
    counts = np.zeros((int(unit_of[-1]) + 1, topics), dtype=np.intp)
    known = own != NO_GROUP
    np.add.at(counts, (unit_of[known], own[known]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), NO_GROUP)


def _points(said: SubjectMessages, unit_of: GroupNumbers) -> NDArray[np.bool_]:
    """Shape (u,): True for units whose first message points to earlier ones."""
    return np.asarray(np.isin(_firsts(unit_of), np.flatnonzero(said.refers_back)), dtype=np.bool_)


def _is_left_out(
    messages: Sequence[Message],
    spoken: Sequence[Message],
    said: SubjectMessages,
    previous: Previous,
    own: GroupNumbers,
    now: GroupNumbers,
) -> NDArray[np.bool_]:
    """Shape (n,): True for courtesies and bare follow-ups without a topic to continue."""
    seen = {message.id for message in messages[: _after(messages, previous.seen)]}
    waited = np.array([message.id in seen for message in spoken]) & (own == NO_GROUP)
    is_new_group = now >= len(previous.topics)
    bare = np.zeros(len(spoken), dtype=np.bool_)
    bare[np.flatnonzero(said.says_nothing)] = True
    return np.asarray(bare & (waited | is_new_group), dtype=np.bool_)


def _any(each: NDArray[np.bool_], unit_of: GroupNumbers) -> NDArray[np.bool_]:
    return np.bincount(unit_of, each) > 0


def _tree(
    number_of: GroupNumbers, topics: Sequence[Topic], smallest: int, fixed: frozenset[str]
) -> list[GrowingTopic]:
    """The groups at the top, from the number of each message's narrowest group."""
    places = {
        int(number): tuple(np.flatnonzero(number_of == number).tolist())
        for number in np.unique(number_of)
        if number != NO_GROUP
    }
    by_id = {topic.id: number for number, topic in enumerate(topics) if topic.id}
    parts: dict[int, list[GrowingTopic]] = {}
    for number, topic in enumerate(topics):
        whole = by_id.get(topic.parent_id, number)
        if whole != number and number in places:
            part = GrowingTopic(places=places.pop(number), before=topic)
            parts.setdefault(whole, []).append(part)
    known = [
        _whole(topic, places.pop(number, ()), parts.get(number, ()), fixed)
        for number, topic in enumerate(topics)
        if number in places or number in parts
    ]
    new = [GrowingTopic(places=found) for found in places.values()]
    shown = [group for group in new if len(group.places) >= smallest]
    return [*known, *(shown if known or shown else new)]


def _whole(
    topic: Topic, own: tuple[int, ...], parts: Sequence[GrowingTopic], fixed: frozenset[str]
) -> GrowingTopic:
    """A topic with its parts; if its only part has the same messages, that part."""
    everything = tuple(sorted((*own, *(place for part in parts for place in part.places))))
    if not own and len(parts) == 1 and topic.label not in fixed:
        return parts[0]
    kept = () if not own and len(parts) == 1 else _largest_first(parts)
    return GrowingTopic(places=everything, parts=kept, before=topic)


def _nested(
    groups: Sequence[GrowingTopic], rows: Matrix, *, most: int, largest: float
) -> list[GrowingTopic]:
    """At most `most` groups: the most similar ones become parts of a wider one."""
    found = list(groups)
    while len(found) > most:
        sums = np.stack([rows[list(group.places)].sum(axis=0) for group in found])
        alike = np.array(at_unit_length(sums) @ at_unit_length(sums).T)
        sizes = np.array([len(group.places) for group in found])
        alike[sizes[:, np.newaxis] + sizes > largest] -= 4  # only if nothing else is left
        np.fill_diagonal(alike, -9)
        one, other = sorted(map(int, divmod(int(alike.argmax()), len(found))))
        wider = _wider(found[one], found[other])
        found = [group for place, group in enumerate(found) if place not in (one, other)]
        found.append(wider)
    return found


def _wider(one: GrowingTopic, other: GrowingTopic) -> GrowingTopic:
    """A group with both as its parts, or with their parts."""
    larger, smaller = (one, other) if len(one.places) >= len(other.places) else (other, one)
    host = next((group for group in (larger, smaller) if group.parts), None)
    parts = [part for group in (one, other) for part in (group.parts or (group,))]
    return GrowingTopic(
        places=tuple(sorted({*one.places, *other.places})),
        parts=_largest_first(parts),
        before=host.before if host else None,
    )


def _largest_first(groups: Sequence[GrowingTopic]) -> tuple[GrowingTopic, ...]:
    return tuple(sorted(groups, key=lambda group: (-len(group.places), group.places)))


def kept_labels(
    groups: Sequence[GrowingTopic], spoken: Sequence[Message], previous: Previous
) -> list[str]:
    """The labels that groups keep, in order; long texts take time, so this runs in a thread."""
    return [kept_label(group, spoken, previous) for group in groups]


def kept_label(group: GrowingTopic, spoken: Sequence[Message], previous: Previous) -> str:
    """The label that a group keeps; empty if it needs a new one.

    A topic that the user has named or picked, or deleted, keeps its label. Others keep theirs
    while they keep half of their messages and one message has a word of the label. A topic of
    fewer than four messages gets a new label once it has four.
    """
    topic = group.before
    if topic is None:
        return ""
    if topic.label in previous.fixed_labels | previous.deleted_labels:
        return topic.label
    now = [spoken[place] for place in group.places]
    here = {message.id for message in spoken}
    was = here.intersection(topic.message_ids)
    kept = was.intersection(message.id for message in now)
    has_grown_up = len(was) < _FEW_MESSAGES <= len(now)
    if has_grown_up or 2 * len(kept) < len(was):
        return ""
    words = set(content_words(topic.label))
    said = (content_words(message.text[:MOST_READ]) for message in now)
    fits = not words or any(map(words.intersection, said))
    return topic.label if fits else ""
