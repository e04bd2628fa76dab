"""Groups what is new in a chat, and leaves what is grouped where it is.

The chat is grouped as a whole, and its groups are given the numbers of those that they had. A new
unit (a question with its answers) goes where it belongs there. Only a unit that came shortly before
may still leave its group, and a group of six messages loses at most 30 % of them at once. So a
wrong beginning can be put right, and a group that has been looked at stays.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.models import Matrix
from smart_context.topics.clusters.grouping import merged, with_offshoots
from smart_context.topics.clusters.units import Floats, Labels, hold_together, merges

NO_GROUP = -1

_ALIKE, _BESIDE = 0.3, 0.2
"""More than for a whole chat: what is pooled too early is hard to part later."""

_RECENT, _MARGIN, _FOUNDING_MARGIN = 3, 0.05, 0.1
"""Only the last questions may leave their group, for one that they are clearly more like."""

_FOLLOWS = 0.1
"""A new question follows those that it belongs to, if they stay and it is so much like them."""

_LARGE, _MOST_LOST = 6, 0.3

_TOP, _STANDS_OUT, _CONTRAST = 3, 0.2, 0.1
_NEAREST, _NEAREST_CONTRAST = 0.25, 0.15
"""A question belongs to the only group that has something like it: its nearest three, or one."""

_MINOR_SHARE = 0.05
"""A question that is so little of the chat goes there, whatever stands beside it."""

_FEW_UNITS, _FEW_GROUPS, _LONE_FROM = 2, 2, 8
"""A chat of more than two questions waits for a second opinion on an unlike one; beyond eight, a
topic takes two."""

_ALIKE_ALONE, _ALIKE_ELSEWHERE = 0.2, 0.28
"""Several found a topic if they are alike without their neighbourhood: the more so, if some of them
leave another one."""

_MOST_RECENT, _MOST_SAMPLED, _MOST_SPLIT = 250, 250, 2_500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Units:
    """The u units of a chat, each a question with its answers.

    Attributes:
        rows: Shape (u, d), unit rows.
        bonus: Shape (u - 1,), what is added to the similarity of neighbours.
        sizes: Shape (u,), their numbers of messages.
        fixed: Shape (u,), True for those that never leave their group.
        points: Shape (u,), True for those whose words point to earlier ones.
        new_from: The first unit that is new.
        largest: The most messages of a group that units may join.
    """

    rows: Matrix
    bonus: Floats
    sizes: NDArray[np.intp]
    fixed: NDArray[np.bool_]
    points: NDArray[np.bool_]
    new_from: int
    largest: float = math.inf

    def links(self, some: Labels, others: Labels) -> Matrix:
        """Shape (len(some), len(others)): the similarities of units."""
        links = np.asarray(self.rows[some] @ self.rows[others].T, dtype=np.float32)
        apart = others[np.newaxis, :] - some[:, np.newaxis]
        for step, earlier in ((-1, others), (1, some)):
            rows, columns = np.nonzero(apart == step)
            links[rows, columns] += self.bonus[earlier[columns if step < 0 else rows]]
        return links

    def bonus_among(self, members: Labels) -> Floats:
        """Shape (len(members) - 1,): the bonus of those that are neighbours."""
        bonus = np.where(np.diff(members) == 1, self.bonus[members[:-1]], 0)
        return np.asarray(bonus, dtype=np.float32)

    def held(self, group: NDArray[np.bool_]) -> int:
        """The number of messages of the chosen units."""
        return int(self.sizes[group].sum())


def grown(units: Units, before: Labels) -> Labels:
    """The group of each unit now; `NO_GROUP` for units that fit none and are too few for one.

    Args:
        units: The units.
        before: Shape (u,), the group of each unit before; `NO_GROUP` without one. New groups get
            numbers above all of these.
    """
    count = len(before)
    if units.new_from >= count:
        return before
    target = before.copy()
    seen = _looked_at(count)
    target[seen] = _with_old_numbers(units, before, seen, _grouped(units, seen))
    may_move = (np.arange(count) >= units.new_from - _RECENT) & ~units.fixed
    target = np.where((before == NO_GROUP) | may_move, target, before)
    for unit in np.flatnonzero(before == NO_GROUP)[-_RECENT:].tolist():
        if units.sizes[unit] <= _MINOR_SHARE * units.sizes.sum():
            best = _standing_out(units, before, unit)
            target[unit] = target[unit] if best == NO_GROUP else best
    found = _with_good_reasons(units, before, target)
    _settle_new(units, before, found)
    return _without_too_large(units, found)


def _looked_at(count: int) -> Labels:
    """The units that are grouped: the last ones, and a sample of those before."""
    old = max(0, count - _MOST_RECENT)
    sample = np.linspace(0, old, min(old, _MOST_SAMPLED), endpoint=False, dtype=np.intp)
    return np.concatenate((sample, np.arange(old, count)))


def _grouped(units: Units, seen: Labels) -> Labels:
    """The groups of these units, as if none had one."""
    rows, sizes = units.rows[seen], units.sizes[seen]
    found = merges(rows, units.bonus_among(seen), sizes=sizes.tolist(), most=units.largest)
    root = merged([merge for merge in found if merge.alike >= _ALIKE], len(seen))
    return with_offshoots(root, root, rows, sizes, units.largest, beside=_BESIDE)


def _with_old_numbers(units: Units, before: Labels, seen: Labels, found: Labels) -> Labels:
    """The same groups; each has the number of the former one that it shares most messages with."""
    old, sizes = before[seen], units.sizes[seen]
    shared = sorted(
        (-int(sizes[(found == one) & (old == former)].sum()), int(former), int(one))
        for one in np.unique(found)
        for former in np.unique(old[old != NO_GROUP])
    )
    numbers: dict[int, int] = {}
    for size, former, one in shared:
        if size and one not in numbers and former not in numbers.values():
            numbers[one] = former
    free = int(before.max(initial=NO_GROUP)) + 1
    for one in np.unique(found).tolist():
        if one not in numbers:
            numbers[one] = free
            free += 1
    return np.array([numbers[one] for one in found.tolist()], dtype=np.intp)


def _with_good_reasons(units: Units, before: Labels, target: Labels) -> Labels:
    """The groups, without those moves that too little speaks for."""
    kept = np.where(before == NO_GROUP, target, before)
    is_moved = (before != NO_GROUP) & (before != target)
    moves = [
        (_gain(units, before, target, members), old, new, members)
        for old, new in sorted({(int(before[u]), int(target[u])) for u in np.flatnonzero(is_moved)})
        for members in (np.flatnonzero(is_moved & (before == old) & (target == new)),)
    ]
    lost: dict[int, int] = {}
    for gain, old, new, members in sorted(moves, key=lambda move: -move[0]):
        total = units.held(before == old)
        room = _MOST_LOST * total - lost.get(old, 0) if total >= _LARGE else math.inf
        held = int(units.sizes[members].sum())
        margin = _MARGIN if (before == new).any() else _FOUNDING_MARGIN
        if gain >= margin and held <= room:
            kept[members] = new
            lost[old] = lost.get(old, 0) + held
        elif not (kept[before != NO_GROUP] == new).any():
            follows = np.flatnonzero((before == NO_GROUP) & (target == new))
            likes = units.rows[follows] @ units.rows[before == old].T
            kept[follows[likes.mean(axis=1) >= _FOLLOWS]] = old
    return kept


def _gain(units: Units, before: Labels, target: Labels, members: Labels) -> float:
    """How much closer these units are to their new group than to the rest of the old one."""
    rest = np.setdiff1d(np.flatnonzero(before == before[members[0]]), members)
    others = np.setdiff1d(np.flatnonzero(target == target[members[0]]), members)
    now = float(units.links(members, rest).mean()) if len(rest) else -1.0
    if len(others):
        return float(units.links(members, others).mean()) - now
    return hold_together(units.rows[members]) - now if len(members) > 1 else -math.inf


def _settle_new(units: Units, before: Labels, groups: Labels) -> None:
    """Let new groups that are none be: of one unit, or of units that only stand side by side.

    Each of their units stays where it was, joins what is like it, or waits.
    """
    count = len(groups)
    for group in np.setdiff1d(groups[groups != NO_GROUP], before):
        members = np.flatnonzero(groups == group)
        if len(members) == 1:
            waits = count > _LONE_FROM or (count > _FEW_UNITS and members[-1] == count - 1)
        else:
            is_told = units.points[members[1:]].any()
            leaves = (before[members] != NO_GROUP).any()
            least = _ALIKE_ELSEWHERE if leaves else _ALIKE_ALONE
            is_unlike = hold_together(units.rows[members]) < least
            waits = count > _LONE_FROM and not is_told and is_unlike
        if waits:
            groups[members] = before[members]
            for unit in members[before[members] == NO_GROUP].tolist():
                groups[unit] = _standing_out(units, groups, unit)


def _standing_out(units: Units, groups: Labels, unit: int) -> int:
    """The only group that has units like this one; `NO_GROUP` if several have, or none."""
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
    """The group that is the most similar one by a margin; `NO_GROUP` if none is."""
    ordered = sorted(alike, reverse=True)
    if not ordered or ordered[0][0] < least:
        return NO_GROUP
    second = ordered[1][0] if len(ordered) > 1 else -1.0
    return ordered[0][1] if ordered[0][0] - second >= margin else NO_GROUP


def _without_too_large(units: Units, groups: Labels) -> Labels:
    """A part of each group that is too large becomes a group; once a turn, until none is."""
    found = groups.copy()
    for group in np.unique(groups[groups != NO_GROUP]):
        members = np.flatnonzero(groups == group)[-_MOST_SPLIT:]
        held = units.held(groups == group)
        if held <= units.largest or len(members) == 1:
            continue
        part = _part_of(units, members, most=_MOST_LOST * held)
        found[part] = found.max() + 1
    return found


def _part_of(units: Units, members: Labels, *, most: float) -> Labels:
    """The largest of the parts of a group that hang together."""
    sizes = units.sizes[members]
    found = merges(units.rows[members], units.bonus_among(members), sizes=sizes.tolist(), most=most)
    root = merged(found, len(members))
    held = np.bincount(root, sizes)
    held[held > most] = 0
    return np.asarray(members[root == held.argmax()], dtype=np.intp)
