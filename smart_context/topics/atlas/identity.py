"""Ids of topics and themes, which stay as long as most of what they stand for is the same."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from smart_context.topics.atlas.values import Key


def stable_ids(
    groups: Sequence[Sequence[Key | str]], before: Mapping[str, Sequence[Key | str]]
) -> list[str]:
    """An id for each group: the former one where most members are the same, else a new one.

    A new id follows from the first member, so that the same archive gives the same ids.
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
