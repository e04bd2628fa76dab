"""Finds a request's chat by the answers that chats got."""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.gateway.asides import RequestFrame
from smart_context.gateway.requests.units import ListUnit

SHORT = 40
"""The minimum length of an answer that identifies a chat; shorter ones could be of any chat."""

RETRY_S = 600.0

NEWEST = 32
"""The number of newest answers compared first; they nearly always decide, otherwise all are."""

_AT_ONCE = 256

TextOf = Callable[[str, str], Awaitable[str]]
"""The text of a chat's message, with single spaces; empty if it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedAnswer:
    """An answer that a chat got."""

    chat: str
    message: str  # the id of the answer
    question: str = ""  # the id of the message that it answers; empty for none
    digest: str = ""  # the digest of its text; empty if it has none
    head: str = ""  # the digest of the beginning of its text; empty if it is short
    calls: tuple[str, ...] = ()  # the ids of its tool calls
    response: str = ""  # the provider's id of the response


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOpening:
    """The beginning of a chat."""

    chat: str
    first: str  # digest of the first user message
    program: str  # digest of the client and its system text
    at: float  # the time when it began, in seconds since 1970


def answer_of(text: str, **given: Any) -> IssuedAnswer:
    """The record of an answer; `text` has single spaces."""
    return IssuedAnswer(
        digest=digest(text) if text else "",
        head=digest(text[:SHORT]) if len(text) >= SHORT else "",
        **given,
    )


def digest(text: str) -> str:
    """The digest that is stored instead of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


_Place = tuple[int, int]
"""The place of an answer in its chat, and its number among all answers.

The answers to one question share a place: versions, choices, and the steps of an agent.
"""


@dataclass(slots=True)
class _AnswersFound:
    """The answers of one chat that are in a request."""

    # the earliest place at which 1, 2, 3 … answers in order can end
    ends: list[_Place] = field(default_factory=list)
    last: int = -1  # the last place that was found
    is_certain: bool = False  # True if the answers can't be of another chat
    _number: int = -1
    _here: frozenset[int] = frozenset()

    def add(self, number: int, places: Sequence[_Place]) -> bool:
        """Add an answer of the request; returns True if it directly follows the previous one.

        Args:
            number: The number of the answer in the request.
            places: The places of the chat's answers that match it; they count as one.
        """
        here = frozenset(place for place, _ in places)
        is_next = number == self._number + 1 and any(place - 1 in self._here for place in here)
        for place in sorted(places, reverse=True):  # so that only one of them is counted
            end = bisect_left(self.ends, place)
            self.ends[end : end + 1] = [place]
        self._number, self._here = number, here
        self.last = max(self.last, *here)
        return is_next


class IssuedAnswers:
    """The answers that one key's chats got through the gateway.

    Attributes:
        by_response: The chat of each response, by the provider's id; empty for those of no chat,
            and for conversations that the provider holds.
        frames: The frame of the turns of each chat, by the chat's id.
    """

    def __init__(self) -> None:
        self.by_response: dict[str, str] = {}
        self.frames: dict[str, RequestFrame] = {}
        self._answers: list[IssuedAnswer] = []
        self._places: list[int] = []
        self._places_in: dict[str, dict[str | int, int]] = defaultdict(dict)
        self._newest_of: dict[str, int] = {}
        self._by_digest: dict[str, list[int]] = defaultdict(list)
        self._newest: ChatOpening | None = None
        self._seen: set[str] = set()

    def note(self, row: IssuedAnswer | ChatOpening) -> None:
        """Add an answer, or the opening of a chat."""
        if isinstance(row, ChatOpening):
            self._newest = row
            return
        index = len(self._answers)
        self._answers.append(row)
        places = self._places_in[row.chat]
        self._places.append(places.setdefault(row.question or index, len(places)))
        self._newest_of[row.chat] = index
        for name in filter(None, (row.digest, row.head and f"{row.head}…", *row.calls)):
            self._by_digest[name].append(index)
        if row.response:
            self.by_response[row.response] = row.chat

    def got(self, response: str) -> None:
        """Note a response that is in no chat."""
        self.by_response.setdefault(response, "")

    def see(self, chat: str) -> bool:
        """Note that a client sent back a chat's answer; returns True for the first time."""
        is_news = chat not in self._seen
        self._seen.add(chat)
        return is_news

    async def chat_of(self, units: Sequence[ListUnit], text_of: TextOf) -> str | None:
        """The chat whose answers are in a request, in order; `None` if there is none.

        Args:
            text_of: Reads messages of chats if their digests can't decide.
        """
        heard = _answers_with_questions(units)
        return await self._best(heard[-NEWEST:], text_of) or await self._best(heard, text_of)

    async def _best(self, heard: Sequence[tuple[ListUnit, str]], text_of: TextOf) -> str | None:
        found: dict[str, _AnswersFound] = defaultdict(_AnswersFound)
        for number, (unit, question) in enumerate(heard):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # let other requests go on
            rows, is_sure = await self._matching(unit, text_of)
            for chat, indexes in rows.items():
                held = found[chat]
                is_next = held.add(number, [(self._places[index], index) for index in indexes])
                held.is_certain = (
                    held.is_certain
                    or is_sure
                    or is_next
                    or await self._was_asked(indexes, question, text_of)
                )
        certain = {chat: held for chat, held in found.items() if held.is_certain}
        if not certain:
            return None
        return max(certain, key=lambda chat: self._rank(chat, certain[chat]))

    def retried(self, units: Sequence[ListUnit], program: str, now: float) -> str | None:
        """The newest chat, if the request repeats its first message; `None` if not.

        Only within ten minutes, if the request has no answer after that message, and while no
        client has sent back an answer of that chat.
        """
        asked, newest = first_question(units), self._newest
        if asked is None or any(u.role == "assistant" for u in units[asked.first :]):
            return None
        if newest is None or newest.chat in self._seen or now - newest.at >= RETRY_S:
            return None
        is_same = (newest.first, newest.program) == (digest(asked.text), program)
        return newest.chat if is_same else None

    async def _matching(self, unit: ListUnit, text_of: TextOf) -> tuple[dict[str, list[int]], bool]:
        """The answers that a unit may be, by chat; `True` if they alone identify the chat."""
        called = {index for call in unit.calls if call for index in self._by_digest.get(call, ())}
        if called or not unit.text:
            return self._by_chat(called), True
        found = list(self._by_digest.get(digest(unit.text), ()))
        is_long = len(unit.text) >= SHORT
        if is_long and not found:
            for index in self._by_digest.get(f"{digest(unit.text[:SHORT])}…", ()):
                row = self._answers[index]
                if _is_prefix(unit.text, await text_of(row.chat, row.message)):
                    found.append(index)
        return self._by_chat(found), is_long

    def _by_chat(self, indexes: Iterable[int]) -> dict[str, list[int]]:
        grouped: dict[str, list[int]] = defaultdict(list)
        for index in indexes:
            grouped[self._answers[index].chat].append(index)
        return grouped

    async def _was_asked(self, indexes: Sequence[int], question: str, text_of: TextOf) -> bool:
        """True if one of these answers was given to the question."""
        for row in (self._answers[index] for index in indexes):
            if row.question and _is_prefix(question, await text_of(row.chat, row.question)):
                return True
        return False

    def _rank(self, chat: str, held: _AnswersFound) -> tuple[int, bool, int]:
        """The rank of a chat: by number of answers, then if its last one is found, then by age."""
        is_whole = held.last == len(self._places_in[chat]) - 1
        return len(held.ends), is_whole, self._newest_of[chat]


def _answers_with_questions(units: Sequence[ListUnit]) -> list[tuple[ListUnit, str]]:
    heard: list[tuple[ListUnit, str]] = []
    question = ""
    for unit in units:
        if unit.role == "user":
            question = unit.text
        elif unit.role == "assistant":
            heard.append((unit, question))
    return heard


def first_question(units: Sequence[ListUnit]) -> ListUnit | None:
    """The first user message."""
    return next((unit for unit in units if unit.role == "user"), None)


def program_of(client: str, units: Sequence[ListUnit], instructions: object) -> str:
    """A digest of client and system text, for programs whose chats begin alike."""
    systems = [unit.text for unit in units if unit.role == "system"]
    return digest("\0".join((client, str(instructions or ""), *systems)))


def as_row(row: IssuedAnswer | ChatOpening) -> JsonObject:
    """The row to store, without empty values."""
    return {name: value for name, value in asdict(row).items() if value}


def read_row(row: JsonObject) -> IssuedAnswer | ChatOpening:
    """A stored row.

    Raises:
        TypeError, KeyError, ValueError: If it is damaged.
    """
    if "first" in row:
        first, program = str(row["first"]), str(row.get("program", ""))
        return ChatOpening(chat=str(row["chat"]), first=first, program=program, at=float(row["at"]))
    texts = ("message", "question", "digest", "head", "response")
    return IssuedAnswer(
        chat=str(row["chat"]),
        calls=tuple(map(str, row.get("calls", ()))),
        **{name: str(row.get(name, "")) for name in texts},
    )


def _is_prefix(one: str, other: str) -> bool:
    return bool(one and other) and (one.startswith(other) or other.startswith(one))
