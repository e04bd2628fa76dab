"""Finds the messages of a client's list that a chat already has, by content. Pure."""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from smart_context.chat.messages import CUT, Message
from smart_context.gateway.requests.units import ListUnit, key_of, spoken_text

ISSUED = "model"
"""The field that marks an answer that came through the gateway: its model."""

_SAME_BEGINNING = 32
"""The minimum common characters at the beginning of two versions of a message with a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMatch:
    """The changes of a chat that a client's list implies."""

    places: tuple[int | None, ...]  # the place of each unit's message; `None` for a new one
    rewritten: frozenset[int] = frozenset()  # the units whose text differs from their message's
    # places of messages that stay, although the client no longer sends them
    cut: frozenset[int] = frozenset()
    # runs of places that the client has abandoned; each becomes a branch
    left: tuple[tuple[int, ...], ...] = ()


def keys_of(messages: Iterable[Message]) -> list[bytes]:
    """The keys of messages; equal for messages of equal content."""
    return [key_of(message) for message in messages]


def matched(
    units: Sequence[ListUnit], messages: Sequence[Message], keys: Sequence[bytes]
) -> ListMatch:
    """Match the units of a request with the messages of its chat."""
    same = _common(units, messages, keys)
    places: list[int | None] = list(range(same))
    rest = _Rest(units, messages, keys, same)
    rest.match()
    return ListMatch(
        places=(*places, *rest.places),
        rewritten=frozenset(rest.rewritten),
        cut=frozenset(rest.cut),
        left=tuple(map(tuple, rest.left)),
    )


def _common(units: Sequence[ListUnit], messages: Sequence[Message], keys: Sequence[bytes]) -> int:
    """The number of units that are the chat's first messages."""
    count = 0
    for unit, message, key in zip(units, messages, keys, strict=False):
        if unit.key != key or message.extra.get(CUT):
            break
        count += 1
    return count


@dataclass(slots=True)
class _Rest:
    """Matches the units and messages after the common beginning."""

    units: Sequence[ListUnit]
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
        """Mark a stopped answer as rewritten, so that the chat takes the client's version of it."""
        if self.messages[place].extra.get("stopped"):
            self.rewritten.add(self.same + index)

    def _shortened_questions(self, missing: list[int]) -> list[int]:
        """Match questions before a known answer, to which the client had added its own words.

        Aider adds a reminder to the last message, and leaves it out the next time.
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

    def _is_alike(self, unit: ListUnit, place: int) -> bool:
        """True if unit and message have one role, and one text is the beginning of the other."""
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
        """True if a message is an answer that came through the gateway, or a question for one."""
        message = self.messages[place]
        if ISSUED in message.extra:
            return True
        after = self.messages[place + 1] if place + 1 < len(self.messages) else None
        return message.role == "user" and (after is None or ISSUED in after.extra)

    def _leave(self, missing: Sequence[int]) -> None:
        """Divide messages that the client no longer sends into cut ones and branches."""
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
    """The key that two versions of a message share; the same for all system messages."""
    return role, "" if role == "system" else text[:_SAME_BEGINNING]


def _take(waiting: list[int] | None, after: int) -> int | None:
    """Remove and return the first sorted place above `after`, else the first place, else `None`."""
    if not waiting:
        return None
    following = bisect_right(waiting, after)
    return waiting.pop(following if following < len(waiting) else 0)


def order(matching: ListMatch, count: int) -> list[int | tuple[int]]:
    """The chat's messages in their new order: places, or `(unit,)` for the message of a unit.

    A cut message, which stays although the client no longer sends it, keeps its place: before the
    same message as until now, or before the new messages at the end.

    Args:
        count: The number of messages in the chat.
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
