"""The costs of a request: the tokens of each message, counted once, and the tokens by part.

Counted once since the page asks for a preview at each keystroke, and long chats have ten thousand
messages.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress, count
from operator import is_not
from typing import Literal

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from smart_context.base.values import CountTokens
from smart_context.chat.compaction import is_clearing, sent_text
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.request.prompt import tokens_as_sent
from smart_context.plugin.forecast.hidden_text import HiddenText, find_hidden_text
from smart_context.plugin.selection.decision import ChatView, Decision

HistoryPart = Literal["history", "system", "summary"]
HISTORY_PARTS: tuple[HistoryPart, ...] = ("history", "system", "summary")

PART_NAMES: Mapping[str, str] = {
    "system": "System prompt",
    "instructions": "Instructions",
    "role": "Role",
    "contexts": "Notes",
    "recalls": "Recalled",
    "tools": "Tools",
    "attachments": "Attachments",
    "summary": "Summary",
    "history": "Messages",
    "message": "This message",
    "results": "Tool results",
}
"""The names of the parts of a request for people, in the order in which the parts are sent."""

MAX_CHATS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensByPart:
    """The tokens of one request by part, in the order in which they are sent."""

    system: int = 0  # the system prompt without role and contexts, and system messages of the chat
    instructions: int = 0
    role: int = 0  # the chat's role with its files
    contexts: int = 0
    recalls: int = 0  # messages of other chats
    tools: int = 0  # the tools that the model may call
    attachments: int = 0  # files and links of messages
    summary: int = 0
    history: int = 0  # all other messages
    message: int = 0  # the question
    results: int = 0  # the model's tool calls in this turn, with their results

    @property
    def total(self) -> int:
        """The tokens of all parts."""
        return sum(asdict(self).values())

    def to_dict(self) -> dict[str, int]:
        """The parts as clients get them."""
        return asdict(self)


NO_TOKENS = TokensByPart()


def settled(parts: Mapping[str, int], total: int) -> dict[str, int]:
    """The parts with tokens adjusted to sum up to `total`, since some texts are joined when sent.

    The tokens that joining adds or saves go to the largest part.
    """
    largest = max(parts, key=lambda name: parts[name], default="history")
    difference = total - sum(parts.values())
    return {**parts, largest: parts.get(largest, 0) + difference}


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The costs of n messages."""

    tokens: NDArray[np.int64]  # shape (n,). The tokens of each message as it is sent.
    parts: NDArray[np.int8]  # shape (n,). Indices into `HISTORY_PARTS`.
    # hidden text, by the position of its message
    hidden_text: dict[int, tuple[HiddenText, ...]]

    def extended(self, same: int, counted: Sequence["_Counted"]) -> "Costs":
        """The costs of the first `same` messages, followed by those of other messages."""
        hidden = {place: texts for place, texts in self.hidden_text.items() if place < same}
        hidden |= {n: one.hidden_text for n, one in enumerate(counted, same) if one.hidden_text}
        tokens = np.fromiter((one.tokens for one in counted), np.int64, len(counted))
        parts = np.fromiter((one.part for one in counted), np.int8, len(counted))
        return Costs(
            np.concatenate((self.tokens[:same], tokens)),
            np.concatenate((self.parts[:same], parts)),
            hidden,
        )


def _no_costs() -> Costs:
    return Costs(np.zeros(0, np.int64), np.zeros(0, np.int8), {})


@dataclass(frozen=True, slots=True)
class _Counted:
    message: Message
    tokens: int
    part: int
    hidden_text: tuple[HiddenText, ...]


_Key = tuple[ChatId, bool, CountTokens]
"""A chat; True if its model is given calls and results in plain text; and the token counter."""


class TokenLedger:
    """Remembers the costs of the messages of the last chats.

    Args:
        counter: Gives the current token counter: a new one when the model changes, or its counter
            has learned.
    """

    def __init__(self, counter: Callable[[], CountTokens]) -> None:
        self._counter = counter
        self._chats: LRUCache[_Key, dict[MessageId, _Counted]] = LRUCache(MAX_CHATS)
        self._last: LRUCache[_Key, tuple[Sequence[Message], Costs]] = LRUCache(MAX_CHATS)
        self._lock = threading.Lock()  # `costs` runs in threads

    def uncounted(
        self, chat_id: ChatId, messages: Sequence[Message], *, as_text: bool = False
    ) -> int:
        """The number of characters whose tokens `costs` would have to count."""
        key = chat_id, as_text, self._counter()
        with self._lock:
            known = self._chats.get(key, {})
            last = self._last.get(key)
        new = messages[_same_beginning(last[0], messages) :] if last else messages
        return sum(len(sent_text(m)) for m in new if _known(known, m) is None)

    def costs(
        self, chat_id: ChatId, messages: Sequence[Message], *, as_text: bool = False
    ) -> Costs:
        """The costs of these messages; counts only new and changed ones.

        Args:
            as_text: The model is given calls and results in plain text.
        """
        count_tokens = self._counter()
        key = chat_id, as_text, count_tokens
        with self._lock:
            known = self._chats.setdefault(key, {})
            last, before = self._last.get(key) or ((), _no_costs())
        same = _same_beginning(last, messages)
        counted = [_known(known, m) or _counted(m, count_tokens, as_text) for m in messages[same:]]
        if len(known) > 2 * len(messages) + 100:
            known.clear()  # most of these messages have been deleted
        known.update((one.message.id, one) for one in counted)
        costs = before.extended(same, counted)
        with self._lock:
            self._last[key] = messages, costs
        return costs

    def forget(self, chat_id: ChatId) -> None:
        """Forget a deleted chat."""
        with self._lock:
            for key in [key for key in (*self._chats, *self._last) if key[0] == chat_id]:
                self._chats.pop(key, None)
                self._last.pop(key, None)


def _counted(message: Message, count_tokens: CountTokens, as_text: bool) -> _Counted:
    tokens = tokens_as_sent(message, count_tokens, as_text=as_text)
    return _Counted(message, tokens, _part(message), find_hidden_text(sent_text(message)))


def history_tokens(decision: Decision, costs: Costs, attached: Mapping[int, int]) -> TokensByPart:
    """The tokens of the history in a request, without role, contexts and question.

    Args:
        costs: The costs of the decision's candidates.
        attached: As `attached_tokens` gives it.
    """
    is_in = decision.selection.reasons.is_in
    sums = np.bincount(
        costs.parts[is_in], weights=costs.tokens[is_in], minlength=len(HISTORY_PARTS)
    )
    by_part = dict(zip(HISTORY_PARTS, map(int, sums), strict=True))
    of_all = sum(attached.values())
    return TokensByPart(
        system=by_part["system"],
        summary=by_part["summary"],
        history=max(by_part["history"] - of_all, 0),
        attachments=of_all,
    )


def attached_tokens(
    view: ChatView, decision: Decision, costs: Costs, count_tokens: CountTokens
) -> dict[int, int]:
    """The tokens that files and links add to each of the user's messages, by its position."""
    is_in = decision.selection.reasons.is_in
    carriers = {
        message.id: position
        for position, message in enumerate(decision.candidates)
        if (message.files or message.links) and message.role == "user" and is_in[position]
    }
    if not carriers:
        return {}
    return {
        position: max(int(costs.tokens[position]) - count_tokens(message.text), 0)
        for message in view.messages
        if (position := carriers.get(message.id)) is not None
    }


def _same_beginning(before: Sequence[Message], messages: Sequence[Message]) -> int:
    """The number of messages at the beginning that are the same objects in both lists."""
    shorter = min(len(before), len(messages))
    return next(compress(count(), map(is_not, before, messages)), shorter)


def _known(known: dict[MessageId, _Counted], message: Message) -> _Counted | None:
    counted = known.get(message.id)
    if counted is None or (counted.message is not message and counted.message != message):
        return None
    return counted


def _part(message: Message) -> int:
    if is_clearing(message):
        return HISTORY_PARTS.index("history")
    if message.is_summary:
        return HISTORY_PARTS.index("summary")
    return HISTORY_PARTS.index("system" if message.role == "system" else "history")
