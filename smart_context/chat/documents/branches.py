"""The versions of a chat: messages that a new answer replaces are kept as a branch. Pure.

A document's `messages` are the current path. A branch is the rest of a previous path, `{"id",
"after", "created_at", "messages"}`, newest first under `branches`. `after` names the message that
it follows, which may be in a branch itself; `null` is the beginning of the chat. Showing another
version swaps the rest of the path with a branch, so nothing is lost and every id stays.
"""

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject, text_in
from smart_context.chat.documents.document import set_value
from smart_context.chat.messages import Message, give_ids, messages_of

BRANCHES = "branches"
"""The key of a document's branches."""

VERSION_ORDER = "version_order"
"""The key of the first messages of versions, oldest first: it keeps the versions' numbers."""

REMOVED = "removed"
"""The key of earlier releases for replaced messages, without the message that they followed."""

_MOST_REMOVALS = 1_000
"""The newest of these that are read; the others stay in the file."""

_MOST_LOOKED_AT, _FEWEST_LOOKED_AT = 1_000_000, 20
_DEEPEST = 50
"""Most branches, one inside another, that are made current in one go."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions at one message of the current path."""

    current: int  # the number of the current one, from 1
    heads: tuple[str, ...]  # the first message of each, oldest first

    @property
    def count(self) -> int:
        """The number of versions."""
        return len(self.heads)


@dataclass(frozen=True, slots=True)
class _Point:
    """A place where versions begin."""

    head: str  # the current version's first message
    # the branches, and `None` for the current path; oldest first
    versions: tuple[JsonObject | None, ...]

    @property
    def found(self) -> Versions:
        heads = (self.head if v is None else _head(v["messages"]) for v in self.versions)
        return Versions(self.versions.index(None) + 1, tuple(heads))


def branches_of(document: Mapping[str, Any]) -> list[JsonObject]:
    """The branches of a document, newest first, without damaged ones.

    They share their messages with the document. The messages that an earlier release kept under
    `removed` come last; the message that they followed is found by the times of questions and
    answers.
    """
    found = document.get(BRANCHES)
    branches = [branch for branch in _listed(found) if _is_branch(branch)]
    removals = _removals_of(document)
    if not removals:
        return branches
    answers = _answers_in((document, *branches, *removals))
    most = max(_FEWEST_LOOKED_AT, _MOST_LOOKED_AT // len(removals))
    return [*branches, *(_from_removal(entry, answers, most) for entry in reversed(removals))]


def set_branches(
    document: JsonObject, branches: Sequence[JsonObject], at_most: int | None = None
) -> None:
    """Store branches, the first `at_most` of them; drops empty ones, keeps damaged ones."""
    damaged = [entry for entry in _listed(document.get(BRANCHES)) if not _is_branch(entry)]
    kept = [*(branch for branch in branches if branch["messages"]), *damaged][:at_most]
    set_value(document, BRANCHES, kept)
    taken = {id(entry) for entry in _removals_of(document)}
    if taken:
        set_value(document, REMOVED, [e for e in document[REMOVED] if id(e) not in taken])


def leave(document: JsonObject, place: int, *, branch_id: str, now: str) -> None:
    """Turn the messages from a place on into a branch; does nothing if there are none.

    Changes the document in place.

    Args:
        place: The position among the entries of `messages`.
    """
    _name(document)
    left = document["messages"][place:]
    if not left:
        return
    _keep_order(document)
    set_value(document, VERSION_ORDER, list(dict.fromkeys([*_order_of(document), _head(left)])))
    after = _id_before(document["messages"], place)
    branch = {"id": branch_id, "after": after, "created_at": now, "messages": left}
    set_branches(document, [branch, *branches_of(document)])
    document["messages"] = document["messages"][:place]


def versions_of(document: Mapping[str, Any]) -> dict[str, Versions]:
    """The messages of the current path at which there are versions, by their ids."""
    return {point.head: point.found for point in _points(document)}


def show_version(
    document: JsonObject,
    message_id: str,
    version: int | None = None,
    *,
    new_id: Callable[[], str],
    now: str,
) -> tuple[str, Versions]:
    """Make another version current; changes the document in place.

    Args:
        message_id: The first message of any of the versions; without `version`, any message of
            the wanted one.
        version: Its number, from 1.

    Returns:
        The first message of the version that is current now, and its number.

    Raises:
        CommandFailed: There is no such message or version, or an answer is being written.
    """
    _name(document)
    branches = branches_of(document)
    for branch in branches:
        _name(branch)
    set_branches(document, branches)
    entries = document["messages"]
    if any(isinstance(entry, dict) and entry.get("generating") is True for entry in entries):
        raise CommandFailed("this chat is still being answered; stop that first, or wait")
    holder = next((b for b in branches if message_id in _ids(b["messages"])), None)
    head = message_id
    if message_id not in _ids(entries):
        if holder is None:
            raise CommandFailed(f"no message {message_id!r} in this chat; it may have been removed")
        for branch in _way_to(document, holder):
            _make_current(document, branch, new_id(), now)
        head = _head(holder["messages"])
    if version is not None:
        head = _choose(document, head, version, new_id, now)
    return head, versions_of(document).get(head, Versions(1, (head,)))


def ids_in_branches(document: Mapping[str, Any]) -> frozenset[str]:
    """The ids of the messages in branches; a message without an id is left out."""
    return frozenset().union(*(_ids(branch["messages"]) for branch in branches_of(document)))


def reattach(document: JsonObject, gone: str) -> None:
    """Let branches that follow a message of the current path follow the message before it."""
    entries = _listed(document.get("messages"))
    after = _id_before(entries, _places(entries)[gone])
    for branch in branches_of(document):
        if _after(branch) == gone:
            branch["after"] = after


def unreachable(document: Mapping[str, Any]) -> list[JsonObject]:
    """The branches that follow a message that the document does not have, newest first."""
    branches = branches_of(document)
    paths = (document, *branches)
    known = frozenset[str]().union(*(_ids(_listed(path.get("messages"))) for path in paths))
    return [b for b in branches if (after := _after(b)) is not None and after not in known]


def _choose(
    document: JsonObject, head: str, version: int, new_id: Callable[[], str], now: str
) -> str:
    point = next((point for point in _points(document) if point.head == head), None)
    versions = point.versions if point else (None,)
    if not 1 <= version <= len(versions):
        raise CommandFailed(
            f"version: expected a number from 1 to {len(versions)}, found {version}"
        )
    chosen = versions[version - 1]
    if chosen is None:
        return head
    _make_current(document, chosen, new_id(), now)
    return _head(chosen["messages"])


def _make_current(document: JsonObject, branch: JsonObject, branch_id: str, now: str) -> None:
    """Swap a branch with the rest of the path after the message that it follows."""
    place = _places(document["messages"])[_after(branch)] + 1
    leave(document, place, branch_id=branch_id, now=now)
    set_branches(document, [other for other in branches_of(document) if other is not branch])
    document["messages"] = [*document["messages"], *branch["messages"]]


def _way_to(document: JsonObject, branch: JsonObject) -> list[JsonObject]:
    """The branches to make current, one after the other, to make this one current."""
    path, branches = _places(document["messages"]), branches_of(document)
    way = [branch]
    while (after := _after(way[0])) not in path:
        holder = next((b for b in branches if after in _ids(b["messages"])), None)
        if holder is None:
            raise CommandFailed("the message that this version follows is no longer in the chat")
        if any(holder is other for other in way) or len(way) == _DEEPEST:
            raise CommandFailed("this version is nested too deeply; show an earlier one first")
        way.insert(0, holder)
    return way


def _points(document: Mapping[str, Any]) -> Iterator[_Point]:
    """The points of the current path, first ones first."""
    branches = [branch for branch in branches_of(document) if not _holds_nothing(branch)]
    if not branches:
        return
    entries = _named(document)
    places, heads = _places(entries), _head_places(entries)
    at: dict[int, list[JsonObject]] = defaultdict(list)
    for branch in reversed(branches):
        place = places.get(_after(branch))
        head = None if place is None else heads[place + 1]
        if head is not None:
            at[head].append(branch)
    order = {key: rank for rank, key in enumerate(_order_of(document))}
    for place, others in sorted(at.items()):
        yield _point(order, entries[place], others)


def _point(
    order: Mapping[str, int], head: Mapping[str, Any], branches: Sequence[JsonObject]
) -> _Point:
    heads = [*(_head_entry(branch["messages"]) for branch in branches), head]
    times = [entry.get("created_at") for entry in heads if entry.get("id") not in order]
    by_time = all(isinstance(time, str) and time for time in times)

    def key(number: int) -> tuple[int, str]:
        entry = heads[number]
        rank = order.get(str(entry.get("id")), len(order))
        return rank, str(entry.get("created_at")) if by_time and rank == len(order) else ""

    # Versions of unknown order are in the order in which they were left, the current one last.
    versions: list[JsonObject | None] = [*branches, None]
    ordered = tuple(versions[number] for number in sorted(range(len(heads)), key=key))
    return _Point(str(head["id"]), ordered)


def _keep_order(document: JsonObject) -> None:
    """Store the order of all versions, which is known only until another becomes current."""
    order = _order_of(document)
    for point in _points(document):
        order += point.found.heads
    set_value(document, VERSION_ORDER, list(dict.fromkeys(order)))


def _order_of(document: Mapping[str, Any]) -> list[str]:
    return [entry for entry in _listed(document.get(VERSION_ORDER)) if isinstance(entry, str)]


def _holds_nothing(branch: Mapping[str, Any]) -> bool:
    """True for a branch without messages, or with just an answer that failed before any text."""
    if len(branch["messages"]) != 1:
        return not branch["messages"]
    answer = next(iter(messages_of(branch)), None)
    if answer is None:
        return True
    return answer.role == "assistant" and bool(answer.error) and not answer.parts


def _head_places(entries: Sequence[Any]) -> list[int | None]:
    """For each place, and for the end, the place of the first message from there on.

    A summary counts only where no other message follows.
    """
    found: list[int | None] = [None]
    said = summary = None
    for place in range(len(entries) - 1, -1, -1):
        entry = entries[place]
        if isinstance(entry, dict) and entry.get("is_summary") is not True:
            said = place
        elif isinstance(entry, dict):
            summary = place
        found.append(summary if said is None else said)
    return found[::-1]


def _head_entry(entries: Sequence[Any]) -> Mapping[str, Any]:
    place = _head_places(entries)[0]
    entry: Mapping[str, Any] = {} if place is None else entries[place]
    return entry


def _head(entries: Sequence[Any]) -> str:
    return str(_head_entry(entries).get("id"))


def _named(document: Mapping[str, Any]) -> list[Any]:
    """The entries of `messages`, each message with its id."""
    entries = _listed(document.get("messages"))
    if _are_named(entries):
        return entries
    copy = {"messages": [dict(e) if isinstance(e, dict) else e for e in entries]}
    give_ids(copy)
    return copy["messages"]


def _name(document: JsonObject) -> None:
    """Give ids to messages without one; checks first, as `give_ids` is slow for long chats."""
    if not _are_named(document.get("messages")):
        give_ids(document)


def _are_named(entries: object) -> bool:
    return isinstance(entries, list) and all(map(_has_id, entries))


def _places(entries: Sequence[Any]) -> dict[Any, int]:
    """The places of messages by their ids; -1, the place before the first, under `None`."""
    return {None: -1, **{e["id"]: n for n, e in enumerate(entries) if _has_id(e)}}


def _ids(entries: Sequence[Any]) -> set[str]:
    return {entry["id"] for entry in entries if _has_id(entry)}


def _has_id(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"] != ""


def _after(branch: Mapping[str, Any]) -> str | None:
    """The id of the message that a branch follows; `None` for the beginning, empty if damaged."""
    after = branch.get("after")
    return after if after is None or isinstance(after, str) else ""


def _id_before(entries: Sequence[Any], place: int) -> str | None:
    return next((e["id"] for e in reversed(entries[:place]) if _has_id(e)), None)


def _is_branch(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("messages"), list)


def _removals_of(document: Mapping[str, Any]) -> list[JsonObject]:
    """The newest `_MOST_REMOVALS` entries that an earlier release removed, oldest first."""
    found = [entry for entry in _listed(document.get(REMOVED)) if _is_branch(entry)]
    return found[-_MOST_REMOVALS:]


class _Answered(NamedTuple):
    """A question, the time when its answer was begun, and the path that has both."""

    at: str
    question: Message
    path: Mapping[str, Any]


def _answers_in(paths: Sequence[Mapping[str, Any]]) -> list[_Answered]:
    """The answered questions of paths, by the answers' times; equal times in reverse order."""
    found = [
        _Answered(answer.created_at, question, path)
        for path in paths
        for question, answer in pairwise(messages_of(path))
        if answer.created_at and question.role == "user"
    ]
    found.reverse()
    found.sort(key=lambda answered: answered.at)
    return found


def _from_removal(removal: JsonObject, answers: Sequence[_Answered], most: int) -> JsonObject:
    """An entry that an earlier release removed, as a branch.

    The answer that replaced it was begun at the time of the removal; it answers the question that
    the removed messages followed.

    Args:
        answers: The result of `_answers_in`.
        most: The most of them to look at.
    """
    removed_at = text_in(removal.get("removed_at"))
    first = next(iter(messages_of(removal)), None)
    until = bisect_right(answers, removed_at, key=lambda answered: answered.at)
    before = answers[max(0, until - most) : until]
    after = next(
        (
            one.question.id
            for one in reversed(before)
            if one.path is not removal and _may_follow(one.question, first)
        ),
        None,
    )
    name = hashlib.sha256(f"{removed_at}\0{first.id if first else ''}".encode()).hexdigest()[:12]
    kept = {key: value for key, value in removal.items() if key != "removed_at"}
    return {**kept, "id": name, "after": after, "created_at": removed_at}


def _may_follow(question: Message, first: Message | None) -> bool:
    return first is None or not first.created_at or question.created_at <= first.created_at


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
