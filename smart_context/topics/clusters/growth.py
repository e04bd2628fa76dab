"""Groups the new messages of a chat; grouped messages mostly stay in their groups.

A new unit (a question with its answers) joins a group, or founds one with other units without a
group. A unit leaves its group only for a clearly better one, and only if it is recent or the group
is small; a group of six messages or more loses at most 30 % of them at once. So early mistakes can
be corrected, and a group that the user has seen stays.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix
from smart_context.topics.clusters.units import (
    NEVER,
    Floats,
    GroupNumbers,
    hold_together,
    is_between_alike,
    merges,
    merges_of,
    roots,
)

NO_GROUP = -1

_ALIKE = 0.28
"""The least mean similarity of a unit and a group to join: a bit more than for a whole chat."""

_TOP, _STANDS_OUT, _CONTRAST = 3, 0.2, 0.1
_NEAREST, _NEAREST_CONTRAST = 0.25, 0.15
"""A question joins the only group with units like it: its three nearest ones, or the nearest."""

_SHORT, _BESIDE, _BETWEEN, _BESIDE_IF_MINOR, _MINOR_SHARE = 4, 0.15, 0.05, 0.05, 0.05
_RECENT, _SMALL, _MARGIN = 3, 6, 0.05
"""The last three old units, and the units of groups of fewer than six messages, may still move."""

_LARGE, _MOST_LOST = 6, 0.3
_ALIKE_ALONE, _ALIKE_ELSEWHERE = 0.2, 0.28
"""The least mean similarity of units that found a topic, without neighbours' bonus; the second
one if some of them leave another topic."""

_FEW_UNITS, _FEW_GROUPS, _LONE_FROM = 2, 2, 8
"""In a chat of more than two questions, the last one waits for another before it founds a topic;
in a chat of more than eight, a topic needs two questions."""

_MOST_FREE, _MOST_SPLIT, _MOST_GROUPS = 500, 2_500, 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionUnits:
    """The u units of a chat, each a question with its answers."""

    rows: Matrix  # shape (u, d), unit rows
    bonus: Floats  # shape (u - 1,), the bonus added to the similarity of neighbours
    sizes: NDArray[np.intp]  # shape (u,), their numbers of messages
    fixed: NDArray[np.bool_]  # shape (u,), True for those that never leave their group
    points: NDArray[np.bool_]  # shape (u,), True for those whose words point to earlier ones
    new_from: int  # the first unit that is new
    largest: float = math.inf  # the most messages of a group that units may join
    share: float = 1.0  # the least mean similarities, as a share of those in English

    def links(self, some: GroupNumbers, others: GroupNumbers) -> Matrix:
        """Shape (len(some), len(others)): the similarities of units."""
        links = np.asarray(self.rows[some] @ self.rows[others].T, dtype=np.float32)
        apart = others[np.newaxis, :] - some[:, np.newaxis]
        for step, earlier in ((-1, others), (1, some)):
            rows, columns = np.nonzero(apart == step)
            links[rows, columns] += self.bonus[earlier[columns if step < 0 else rows]]
        return links

    def held(self, group: NDArray[np.bool_]) -> int:
        """The number of messages of the chosen units."""
        return int(self.sizes[group].sum())


def grown(units: QuestionUnits, before: GroupNumbers) -> GroupNumbers:
    """The new group of each unit; `NO_GROUP` for units that fit none and are too few to found one.

    Args:
        before: Shape (u,), the group of each unit before; `NO_GROUP` without one. New groups get
            numbers above all of these.
    """
    count = len(before)
    if units.new_from >= count:
        return before
    start = before.copy()
    start[_movable(units, before) & ~units.fixed] = NO_GROUP
    free = np.flatnonzero(start == NO_GROUP)[-_MOST_FREE:]
    first_new = int(before.max(initial=NO_GROUP)) + 1
    joined = _joined(units, start, free, first_new=first_new)
    _part_unlike(units, before, joined, first_new=first_new)
    for group, members in _founded(units, joined, first_new=first_new):
        joined[members] = _place_for(units, joined, group, members, first_new=first_new)
    kept = _with_good_reasons(units, before, _with_old_numbers(units, before, joined))
    _settle_left_alone(units, before, kept)
    return _without_too_large(units, kept)


def _joined(
    units: QuestionUnits, start: GroupNumbers, free: GroupNumbers, *, first_new: int
) -> GroupNumbers:
    """Average linkage of the free units with groups and with each other; groups stay apart."""
    known = np.unique(start[start != NO_GROUP])
    grouped = np.flatnonzero(start != NO_GROUP)
    is_in = (start[grouped, np.newaxis] == known).astype(np.float32)
    weights = np.concatenate((is_in.sum(axis=0), np.ones(len(free))))
    held = np.concatenate((is_in.T @ units.sizes[grouped], units.sizes[free]))
    total, wide = len(weights), len(known)
    links = np.full((total, total), NEVER, dtype=np.float32)
    to_groups = units.links(free, grouped) @ is_in / weights[:wide]
    links[wide:, :wide], links[:wide, wide:] = to_groups, to_groups.T
    links[wide:, wide:] = units.links(free, free)
    links[held[:, np.newaxis] + held > units.largest] = NEVER
    least = units.share * _ALIKE
    joining = merges_of(links, held, units.largest, weights=weights)
    alike = takewhile(lambda merge: merge.alike >= least, joining)
    root = roots(alike, total)[wide:]
    found = start.copy()
    numbers = np.concatenate((known, np.full(len(free), NO_GROUP)))
    new = [each for each in np.unique(root) if each >= wide]
    numbers[new] = first_new + np.arange(len(new))
    found[free] = numbers[root]
    return found


def _movable(units: QuestionUnits, before: GroupNumbers) -> NDArray[np.bool_]:
    """Shape (u,): True for units shortly before the new ones, and for units of small groups."""
    places = np.arange(len(before))
    is_recent = (places >= units.new_from - _RECENT) & (places < units.new_from)
    held = np.bincount(before + 1, units.sizes)
    is_small = (before != NO_GROUP) & (held[before + 1] < _SMALL)
    return np.asarray(is_recent | is_small, dtype=np.bool_)


def _part_unlike(
    units: QuestionUnits, before: GroupNumbers, joined: GroupNumbers, *, first_new: int
) -> None:
    """Separate the units of each new group that is held together only by the neighbours' bonus."""
    if len(joined) <= _LONE_FROM:
        return
    number = int(joined.max(initial=NO_GROUP)) + 1
    for group in np.unique(joined[joined >= first_new]):
        members = np.flatnonzero(joined == group)
        is_told = units.points[members[1:]].any()
        leaves = (before[members] != NO_GROUP).any()
        least = units.share * (_ALIKE_ELSEWHERE if leaves else _ALIKE_ALONE)
        is_unlike = hold_together(units.rows[members]) < least
        if len(members) > 1 and not is_told and is_unlike:
            joined[members] = number + np.arange(len(members))
            number += len(members)


def _with_old_numbers(
    units: QuestionUnits, before: GroupNumbers, joined: GroupNumbers
) -> GroupNumbers:
    """The same groups; a new group with most messages of a vanished one gets its number."""
    gone = np.setdiff1d(before[before != NO_GROUP], joined)
    new = np.setdiff1d(joined[joined != NO_GROUP], before)
    shared = sorted(
        (-units.held((joined == one) & (before == old)), int(old), int(one))
        for one in new
        for old in gone
    )
    named = joined.copy()
    taken: set[int] = set()
    for size, old, one in shared:
        if size and not taken & {old, one}:
            named[joined == one] = old
            taken |= {old, one}
    return named


def _founded(
    units: QuestionUnits, joined: GroupNumbers, *, first_new: int
) -> Iterator[tuple[int, GroupNumbers]]:
    """The short new groups, the smallest first, with their units at the time."""
    groups = [int(group) for group in np.unique(joined) if group >= first_new]
    for group in sorted(groups, key=lambda each: (units.held(joined == each), each)):
        members = np.flatnonzero(joined == group)
        if len(members) and units.sizes[members].sum() <= _SHORT:
            yield group, members


def _place_for(
    units: QuestionUnits, joined: GroupNumbers, group: int, members: GroupNumbers, *, first_new: int
) -> int:
    """The group that a short new one joins; its own number if it founds a topic.

    `NO_GROUP` if it has to wait.
    """
    count, is_lone = len(joined), len(members) == 1
    if is_lone and (found := _standing_out(units, joined, int(members[0]))) != NO_GROUP:
        return found
    is_last = bool(members[-1] == count - 1)
    if is_lone and is_last and count > _FEW_UNITS:
        return NO_GROUP
    near = np.concatenate((members - 1, members + 1)).clip(0, count - 1)
    size = int(units.sizes[members].sum())
    fits = [
        int(other)
        for other in np.unique(joined[near])
        if other not in (group, NO_GROUP)
        and (other < first_new or count <= _LONE_FROM)
        and units.held(joined == other) + size <= units.largest
    ]
    rows = units.rows
    links = [float((rows[members] @ rows[joined == other].T).mean()) for other in fits]
    is_between = is_lone and is_between_alike(rows, joined, int(members[0]))
    is_minor = is_lone and size <= _MINOR_SHARE * units.sizes.sum()
    least = _BETWEEN if is_between else _BESIDE_IF_MINOR if is_minor else _BESIDE
    if links and max(links) >= units.share * least:
        return fits[int(np.argmax(links))]
    if len(np.unique(joined)) > _MOST_GROUPS:
        return NO_GROUP
    return NO_GROUP if is_lone and count > _LONE_FROM else group


def _standing_out(units: QuestionUnits, groups: GroupNumbers, unit: int) -> int:
    """The only group with units similar to this one; `NO_GROUP` if there are several, or none."""
    known = np.unique(groups[groups != NO_GROUP])
    several: list[tuple[float, int]] = []
    nearest: list[tuple[float, int]] = []
    for group in known:
        members = groups == group
        members[unit] = False
        if members.any() and units.held(members) < units.largest:
            close = np.sort(units.rows[members] @ units.rows[unit])
            nearest.append((float(close[-1]), int(group)))
            if len(close) >= _TOP:
                several.append((float(close[-_TOP:].mean()), int(group)))
    if len(nearest) < _FEW_GROUPS:
        return NO_GROUP
    found = _first_by(several, _STANDS_OUT, _CONTRAST)
    if found != NO_GROUP or units.points[unit]:
        return found
    return _first_by(nearest, _NEAREST, _NEAREST_CONTRAST)


def _first_by(alike: list[tuple[float, int]], least: float, margin: float) -> int:
    """The most similar group if it leads by a margin; otherwise `NO_GROUP`."""
    ordered = sorted(alike, reverse=True)
    if not ordered or ordered[0][0] < least:
        return NO_GROUP
    second = ordered[1][0] if len(ordered) > 1 else -1.0
    return ordered[0][1] if ordered[0][0] - second >= margin else NO_GROUP


def _with_good_reasons(
    units: QuestionUnits, before: GroupNumbers, after: GroupNumbers
) -> GroupNumbers:
    """The new groups, without moves of too little gain, or of too much of a group."""
    kept = after.copy()
    is_moved = (before != NO_GROUP) & (before != after)
    lost: dict[int, int] = {}
    for old, new in sorted({(int(before[u]), int(after[u])) for u in np.flatnonzero(is_moved)}):
        members = np.flatnonzero(is_moved & (before == old) & (after == new))
        size, total = int(units.sizes[members].sum()), units.held(before == old)
        gone = lost.get(old, 0) + size
        is_too_much = total >= _LARGE and gone > _MOST_LOST * total
        if is_too_much or _gain(units, before, after, members) < _MARGIN:
            kept[members] = old
        else:
            lost[old] = gone
    return kept


def _gain(
    units: QuestionUnits, before: GroupNumbers, after: GroupNumbers, members: GroupNumbers
) -> float:
    """The similarity of these units to their new group, less that to the rest of the old one."""
    rest = np.setdiff1d(np.flatnonzero(before == before[members[0]]), members)
    new = after[members[0]]
    others = np.setdiff1d(np.flatnonzero(after == new), members) if new != NO_GROUP else members[:0]
    now = float(units.links(members, rest).mean()) if len(rest) else -1.0
    if len(others):
        is_new = not (before == new).any()
        links = (
            units.rows[members] @ units.rows[others].T if is_new else units.links(members, others)
        )
        return float(links.mean()) - now
    if new == NO_GROUP or len(members) == 1:
        return -math.inf
    return hold_together(units.rows[members]) - now


def _settle_left_alone(units: QuestionUnits, before: GroupNumbers, groups: GroupNumbers) -> None:
    """Let a unit that is alone in its new group join a group like it, or wait."""
    if len(groups) <= _LONE_FROM:
        return
    for group in np.setdiff1d(groups[groups != NO_GROUP], before):
        members = np.flatnonzero(groups == group)
        if len(members) == 1:
            groups[members] = _standing_out(units, groups, int(members[0]))


def _without_too_large(units: QuestionUnits, groups: GroupNumbers) -> GroupNumbers:
    """Make one part of each group that is too large a group; later turns split it further."""
    found = groups.copy()
    for group in np.unique(groups[groups != NO_GROUP]):
        members = np.flatnonzero(groups == group)[-_MOST_SPLIT:]
        held = units.held(groups == group)
        if held <= units.largest or len(members) == 1:
            continue
        part = _part_of(units, members, most=_MOST_LOST * held)
        found[part] = found.max() + 1
    return found


def _part_of(units: QuestionUnits, members: GroupNumbers, *, most: float) -> GroupNumbers:
    """The largest coherent part of a group, with at most `most` messages."""
    bonus = np.where(np.diff(members) == 1, units.bonus[members[:-1]], 0)
    sizes = units.sizes[members]
    found = merges(units.rows[members], bonus, sizes=sizes.tolist(), most=most)
    root = roots(found, len(members))
    held = np.bincount(root, sizes)
    held[held > most] = 0
    return np.asarray(members[root == held.argmax()], dtype=np.intp)
