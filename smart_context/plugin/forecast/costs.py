"""What each message of a chat costs and holds, found out once a message.

A preview is asked for at each keystroke, and a long chat has ten thousand messages.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.compaction import sent_text
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.plugin.forecast.hidden_text import Unseen, unseen_in

Part = Literal["history", "system", "summary"]
PARTS: tuple[Part, ...] = ("history", "system", "summary")

MAX_CHATS = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """One message: its tokens, its part as an index into `PARTS`, and what people don't see."""

    message: Message
    tokens: int
    part: int
    unseen: tuple[Unseen, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The messages of a run: shapes (n,), and who holds what people don't see.

    Attributes:
        tokens: Of each message as it is sent.
        parts: Indices into `PARTS`.
        unseen: By position.
    """

    tokens: NDArray[np.int64]
    parts: NDArray[np.int8]
    unseen: dict[int, tuple[Unseen, ...]]


class TokenLedger:
    """Remembers the costs of the chats that were looked at last.

    Args:
        count_tokens: Counts for the model that is chatted with.
    """

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens
        self._chats: OrderedDict[ChatId, dict[MessageId, Entry]] = OrderedDict()

    def unknown(self, chat_id: ChatId, messages: Sequence[Message]) -> int:
        """How many characters are still to be counted."""
        known = self._chats.get(chat_id, {})
        return sum(len(sent_text(m)) for m in messages if _known(known, m) is None)

    def costs(self, chat_id: ChatId, messages: Sequence[Message]) -> Costs:
        """What each of these messages costs; counts those that are new or have changed."""
        known = self._chats.setdefault(chat_id, {})
        self._chats.move_to_end(chat_id)
        while len(self._chats) > MAX_CHATS:
            self._chats.popitem(last=False)
        entries = [_known(known, m) or self._counted(m) for m in messages]
        if len(known) > 2 * len(messages) + 100:
            known.clear()  # most of what is known was deleted since
        known.update((entry.message.id, entry) for entry in entries)
        count = len(entries)
        return Costs(
            np.fromiter((entry.tokens for entry in entries), np.int64, count),
            np.fromiter((entry.part for entry in entries), np.int8, count),
            {at: entry.unseen for at, entry in enumerate(entries) if entry.unseen},
        )

    def forget(self, chat_id: ChatId) -> None:
        """The chat is gone."""
        self._chats.pop(chat_id, None)

    def _counted(self, message: Message) -> Entry:
        text = sent_text(message)
        return Entry(message, self._count_tokens(text), _part(message), unseen_in(text))


def _known(known: dict[MessageId, Entry], message: Message) -> Entry | None:
    entry = known.get(message.id)
    if entry is None or (entry.message is not message and entry.message != message):
        return None
    return entry


def _part(message: Message) -> int:
    if message.is_summary:
        return PARTS.index("summary")
    return PARTS.index("system" if message.role == "system" else "history")
