"""Matches a client's list with a chat's messages by content. Pure."""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import branches_of, set_branches
from smart_context.chat.messages import CUT, Message, give_ids, messages_of
from smart_context.gateway.requests.units import Unit, key_of, spoken_text

ISSUED = "model"
"""The field that marks an answer that came through the gateway: its model."""

_SAME_BEGINNING = 32
"""Fewest characters that two versions of a message with a file have in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """What a client's list means for a chat."""

    places: tuple[int | None, ...]  # for each unit the place of its message; `None` for a new one
    rewritten: frozenset[int] = frozenset()  # the units whose text differs from their message's
    # places of messages that stay, although the client no longer sends them
    cut: frozenset[int] = frozenset()
    # runs of places that the client has abandoned; each becomes a branch
    left: tuple[tuple[int, ...], ...] = ()


def keys_of(messages: Iterable[Message]) -> list[bytes]:
    """A key that is equal for messages of equal content."""
    return [key_of(message) for message in messages]


def matched(units: Sequence[Unit], messages: Sequence[Message], keys: Sequence[bytes]) -> Matching:
    """Match the units of a request with the messages of its chat."""
    same = _common(units, messages, keys)
    places: list[int | None] = list(range(same))
    rest = _Rest(units, messages, keys, same)
    rest.match()
    return Matching(
        places=(*places, *rest.places),
        rewritten=frozenset(rest.rewritten),
        cut=frozenset(rest.cut),
        left=tuple(map(tuple, rest.left)),
    )


def _common(units: Sequence[Unit], messages: Sequence[Message], keys: Sequence[bytes]) -> int:
    """The number of units that are the chat's first messages."""
    count = 0
    for unit, message, key in zip(units, messages, keys, strict=False):
        if unit.key != key or message.extra.get(CUT):
            break
        count += 1
    return count


@dataclass(slots=True)
class _Rest:
    """Matches what follows the common beginning."""

    units: Sequence[Unit]
    messages: Sequence[Message]
    keys: Sequence[bytes]
    same: int
    places: list[int | None] = field(default_factory=list, init=False)
    rewritten: set[int] = field(default_factory=set, init=False)
    cut: set[int] = field(default_factory=set, init=False)
    left: list[list[int]] = field(default_factory=list, init=False)

    def match(self) -> None:
        self.places = self._by_content()
        taken = {place for place in self.places if place is not None}
        missing = [index for index in range(self.same, len(self.messages)) if index not in taken]
        if missing:
            missing = self._shortened_answers(missing)
            missing = self._shortened_questions(missing)
            missing = self._rewritten(missing)
            self._leave(missing)

    def _by_content(self) -> list[int | None]:
        waiting: dict[bytes, list[int]] = defaultdict(list)
        for index in range(self.same, len(self.messages)):
            waiting[self.keys[index]].append(index)
        if not waiting:
            return [None] * (len(self.units) - self.same)
        last = self.same - 1
        places: list[int | None] = []
        for unit in self.units[self.same :]:
            places.append(place := _take(waiting.get(unit.key), last))
            last = max(last, -1 if place is None else place)
        return places

    def _shortened_answers(self, missing: list[int]) -> list[int]:
        """Match answers that the client sends back shortened or extended."""
        left = set(missing)
        previous: int | None = self.same - 1
        for index, unit in enumerate(self.units[self.same :]):
            place = self.places[index]
            if place is None and previous is not None and unit.role == "assistant":
                following = previous + 1
                if following in left and self._is_alike(unit, following):
                    self.places[index] = place = following
                    left.remove(place)
                    self._follow_stopped(index, place)
            previous = place
        return [place for place in missing if place in left]

    def _follow_stopped(self, index: int, place: int) -> None:
        """Of a stopped answer the chat holds what the client has kept."""
        if self.messages[place].extra.get("stopped"):
            self.rewritten.add(self.same + index)

    def _shortened_questions(self, missing: list[int]) -> list[int]:
        """Match questions before a known answer, to which the client had added its own words.

        Aider adds a reminder to the last message, and sends the next time without.
        """
        left = set(missing)
        units = self.units[self.same :]
        for index, (place, answer) in enumerate(pairwise(self.places)):
            if place is None and answer is not None and units[index].role == "user":
                asked = answer - 1
                is_ours = ISSUED in self.messages[answer].extra
                if is_ours and asked in left and self._is_alike(units[index], asked):
                    self.places[index] = asked
                    self.rewritten.add(self.same + index)
                    left.remove(asked)
        return [place for place in missing if place in left]

    def _is_alike(self, unit: Unit, place: int) -> bool:
        """True if a unit and a message of its role begin alike, one of them shorter."""
        text = spoken_text(self.messages[place])
        is_alike = text.startswith(unit.text) or unit.text.startswith(text)
        return self.messages[place].role == unit.role and bool(text and unit.text) and is_alike

    def _rewritten(self, missing: list[int]) -> list[int]:
        """Match messages with files and the like whose contents the client changed."""
        new: dict[tuple[str, str], deque[int]] = defaultdict(deque)
        for index, place in enumerate(self.places):
            if place is None:
                unit = self.units[self.same + index]
                new[_beginning(unit.role, unit.text)].append(index)
        left: list[int] = []
        for place in missing:
            alike = new.get(
                _beginning(self.messages[place].role, spoken_text(self.messages[place]))
            )
            if not alike or not self._may_be_rewritten(place):
                left.append(place)
                continue
            index = alike.popleft()
            self.places[index] = place
            self.rewritten.add(self.same + index)
        return left

    def _may_be_rewritten(self, place: int) -> bool:
        message = self.messages[place]
        if message.role in {"system", "tool"}:
            return message.role == "system"
        return len(spoken_text(message)) >= _SAME_BEGINNING and not self._was_said(place)

    def _was_said(self, place: int) -> bool:
        """True if a message is an answer that came through the gateway, or its question."""
        message = self.messages[place]
        if ISSUED in message.extra:
            return True
        after = self.messages[place + 1] if place + 1 < len(self.messages) else None
        return message.role == "user" and (after is None or ISSUED in after.extra)

    def _leave(self, missing: Sequence[int]) -> None:
        """Sort messages that the client no longer sends into cut ones and branches."""
        taken = [place for place in self.places if place is not None]
        last = max(taken, default=self.same - 1)
        spoken = (*range(self.same), *taken)
        first = min((p for p in spoken if self.messages[p].role != "system"), default=None)
        run: list[int] = []
        for place in missing:
            is_front = first is not None and place < first
            is_supporting = place < last and not self._belongs_to_turn(place)
            if self._stays(place) or is_front or is_supporting:
                self.cut.add(place)
                continue
            if run and place != run[-1] + 1:
                self.left.append(run)
                run = []
            run.append(place)
        if run:
            self.left.append(run)

    def _stays(self, place: int) -> bool:
        message = self.messages[place]
        return message.is_summary or bool(message.extra.get(CUT))

    def _belongs_to_turn(self, place: int) -> bool:
        message = self.messages[place]
        is_step = message.role == "tool" or not isinstance(message.content, str)
        return is_step or self._was_said(place)


def _beginning(role: str, text: str) -> tuple[str, str]:
    """The key that two versions of a message share; system messages share one."""
    return role, "" if role == "system" else text[:_SAME_BEGINNING]


def _take(waiting: list[int] | None, after: int) -> int | None:
    """The first of the sorted places after the last one, else the first there is."""
    if not waiting:
        return None
    following = bisect_right(waiting, after)
    return waiting.pop(following if following < len(waiting) else 0)


def order(matching: Matching, count: int) -> list[int | tuple[int]]:
    """The chat's messages in their new order: places, or `(unit,)` for a unit's.

    A message that stays although it is not sent keeps its place: it precedes the same message as
    before, or the new messages at the end.

    Args:
        count: How many messages the chat has.
    """
    cut = deque(sorted(matching.cut))
    ordered: list[int | tuple[int]] = []
    known = [index for index, place in enumerate(matching.places) if place is not None]
    last = known[-1] if known else -1
    for index, place in enumerate(matching.places):
        while cut and (index > last or (place is not None and cut[0] < place)):
            ordered.append(cut.popleft())
        ordered.append((index,))
    ordered.extend(place for place in cut if place < count)
    return ordered


MAX_BRANCHES = 20

_NO_NAMES: Mapping[int, str] = MappingProxyType({})

NewId = Callable[[], str]


def follow(
    document: JsonObject,
    units: Sequence[Unit],
    plan: tuple[Sequence[Message], Matching],
    *,
    new_id: NewId,
    now: str,
    retry: str = "",
    names: Mapping[int, str] = _NO_NAMES,
) -> list[str]:
    """Make the document's messages those of the client's list; returns the units' ids.

    Args:
        document: Changed in place.
        units: The client's list.
        plan: What the list means, and the messages it was matched with; it is matched again
            if the document has others.
        new_id: Names new messages and branches.
        now: When they are made.
        retry: The coming answer's id if the client retries by itself: what it replaces is kept
            as a branch of that name, until the answer is there.
        names: The ids that new messages already have, by unit.
    """
    entries = _entries(document)
    messages, matching = plan
    if [entry.get("id") for entry in entries] != [message.id for message in messages]:
        give_ids(document)
        entries, messages = document["messages"], messages_of(document)
        matching = matched(units, messages, keys_of(messages))
    branches = branches_of(document)
    made: list[JsonObject] = []
    ids: list[str] = []
    for piece in order(matching, len(entries)):
        if isinstance(piece, int):
            if not entries[piece].get("is_summary"):
                entries[piece][CUT] = True
            made.append(entries[piece])
            continue
        index = piece[0]
        place = matching.places[index]
        if place is not None:
            entry = _known(entries[place], units[index], is_rewritten=index in matching.rewritten)
        elif index in names:
            entry = units[index].stored(names[index], now)
        else:
            entry = _from_branch(branches, units[index], new_id) or units[index].stored(
                new_id(), now
            )
        made.append(entry)
        ids.append(entry["id"])
    for run in reversed(matching.left):
        _leave(
            branches,
            [entries[index] for index in run],
            _before(entries, run[0]),
            retry,
            new_id,
            now,
        )
    document["messages"] = made
    set_branches(document, branches, MAX_BRANCHES)
    return ids


def _known(entry: JsonObject, unit: Unit, *, is_rewritten: bool) -> JsonObject:
    entry.pop(CUT, None)
    if is_rewritten:
        entry["content"] = _rewritten(entry.get("content"), unit)
    return entry


def _rewritten(content: Any, unit: Unit) -> Any:
    """What the client has now, with thoughts that no client sends back."""
    if not isinstance(unit.content, str) or not isinstance(content, list):
        return unit.stored("", "")["content"]
    thoughts = [p for p in content if isinstance(p, dict) and p.get("type") == "reasoning"]
    return [*thoughts, {"type": "text", "text": unit.content}] if thoughts else unit.content


def append_answer(document: JsonObject, answer: JsonObject) -> None:
    """Add an answer that is being generated."""
    _entries(document).append(answer)


def put_answer(
    document: JsonObject,
    answer: JsonObject,
    others: Sequence[JsonObject] = (),
    *,
    new_id: NewId,
    now: str,
) -> None:
    """Replace an answer by its final form, on whatever branch it is now.

    An answer that is gone was requested again; the late one is not kept. If nothing arrived, the
    newest answer that was delivered to the question is current again.

    Args:
        document: Changed in place.
        answer: The answer; its id says which.
        others: The other choices; kept as versions.
        new_id: Names branches.
        now: When they are made.
    """
    branches = branches_of(document)
    messages = _entries(document)
    is_last = bool(messages) and messages[-1].get("id") == answer["id"]
    if is_last and _is_empty(answer) and not others:
        delivered = _take_delivered(branches, _before(messages, len(messages) - 1))
        messages[-1:] = delivered or [answer]
        set_branches(document, branches, MAX_BRANCHES)
        return
    if _was_delivered(answer):
        branches = [branch for branch in branches if branch.get("id") != answer["id"]]
    lists = [messages, *(branch["messages"] for branch in branches)]
    for entries in lists:
        for index in reversed(range(len(entries))):
            if isinstance(entries[index], dict) and entries[index].get("id") == answer["id"]:
                entries[index] = answer
                for other in others:
                    _add(branches, [other], _before(entries, index), new_id, now)
    set_branches(document, branches, MAX_BRANCHES)


def _leave(
    branches: list[JsonObject],
    left: list[JsonObject],
    after: str | None,
    retry: str,
    new_id: NewId,
    now: str,
) -> None:
    is_answer = all(entry.get("role") == "assistant" for entry in left)
    if is_answer and not any(map(_was_delivered, left)):
        return
    is_replaced = is_answer and bool(retry)
    _add(branches, left, after, (lambda: retry) if is_replaced else new_id, now)


def _add(
    branches: list[JsonObject],
    messages: list[JsonObject],
    after: str | None,
    new_id: NewId,
    now: str,
) -> None:
    branch = {"id": new_id(), "after": after, "created_at": now, "messages": messages}
    branches.insert(0, branch)


def _was_delivered(entry: Mapping[str, Any]) -> bool:
    return not (entry.get("generating") or entry.get("error") or entry.get("stopped"))


def _is_empty(answer: Mapping[str, Any]) -> bool:
    """Nothing of it arrived; a notice of ours may say so."""
    content = answer.get("content")
    parts = content if isinstance(content, list) else [content] if content else []
    return all(isinstance(p, dict) and p.get("type") == "info" and "digest" not in p for p in parts)


def _take_delivered(branches: list[JsonObject], question: str | None) -> list[JsonObject]:
    """Remove the branch with the newest delivered answer to a question; returns its messages."""
    for branch in branches:
        first = next(iter(branch["messages"]), None)
        if not isinstance(first, dict):
            continue
        is_answer = branch.get("after") == question and first.get("role") == "assistant"
        if is_answer and _was_delivered(first) and not _is_empty(first):
            branches.remove(branch)
            messages: list[JsonObject] = branch["messages"]
            return messages
    return []


def _from_branch(branches: list[JsonObject], unit: Unit, new_id: NewId) -> JsonObject | None:
    """A message of a branch that the client has returned to; what follows it there stays one."""
    for number, branch in enumerate(branches):
        give_ids(branch)
        entries = branch["messages"]
        places = [place for place, entry in enumerate(entries) if isinstance(entry, dict)]
        for place, key in zip(places, keys_of(messages_of(branch)), strict=True):
            if key == unit.key:
                entry: JsonObject = entries[place]
                rest = {**branch, "after": entry["id"], "messages": entries[place + 1 :]}
                branches[number : number + 1] = (
                    [rest]
                    if place == 0
                    else [{**rest, "id": new_id()}, {**branch, "messages": entries[:place]}]
                )
                return entry
    return None


def _before(entries: Sequence[Mapping[str, Any]], index: int) -> str | None:
    return str(entries[index - 1].get("id")) if index > 0 else None


def _entries(document: JsonObject) -> list[JsonObject]:
    entries = document.get("messages")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        give_ids(document)
        entries = document["messages"] = [e for e in document["messages"] if isinstance(e, dict)]
    return entries
