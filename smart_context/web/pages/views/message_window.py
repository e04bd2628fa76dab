"""Which of a chat's messages a page shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from smart_context.chat.messages import Message

PAGE_MESSAGES = 80
"""Messages that a page opens with, and that each scroll upwards adds."""

MAX_PAGE_MESSAGES = 400
"""Most messages of one request."""

_LEAD_IN = 3
"""Messages shown before the one that a link points to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRun:
    """A run of a chat's messages."""

    messages: tuple[Message, ...]  # oldest first
    older: int  # number of messages before them
    newer: int  # number of messages after them

    @property
    def is_newest(self) -> bool:
        """True if no messages follow, so new ones may be added."""
        return not self.newer


def newest(messages: Sequence[Message], limit: int = PAGE_MESSAGES) -> MessageRun:
    """The last messages of a chat."""
    return _window(messages, len(messages) - limit, len(messages))


def before(messages: Sequence[Message], message_id: str, limit: int = PAGE_MESSAGES) -> MessageRun:
    """The messages just before one, or before the end if that one is missing."""
    end = _position(messages, message_id, default=len(messages))
    return _window(messages, end - limit, end)


def since(messages: Sequence[Message], message_id: str) -> MessageRun:
    """A message and all after it, at most `MAX_PAGE_MESSAGES`, the newest kept."""
    start = _position(messages, message_id, default=len(messages) - PAGE_MESSAGES)
    return _window(messages, max(start, len(messages) - MAX_PAGE_MESSAGES), len(messages))


def around(messages: Sequence[Message], message_id: str) -> MessageRun:
    """A message with a few before it and those after it, to the end if that is near."""
    start = max(0, _position(messages, message_id, default=len(messages)) - _LEAD_IN)
    left = len(messages) - start
    if left <= PAGE_MESSAGES:
        return newest(messages)
    end = len(messages) if left <= MAX_PAGE_MESSAGES else start + PAGE_MESSAGES
    return _window(messages, start, end)


def chosen(messages: Sequence[Message], message_ids: Sequence[str]) -> MessageRun:
    """The messages of these ids that exist, in the chat's order."""
    wanted = set(message_ids[:MAX_PAGE_MESSAGES])
    return MessageRun(messages=tuple(m for m in messages if m.id in wanted), older=0, newer=0)


def window_asked_for(messages: Sequence[Message], asked: QueryParams) -> MessageRun:
    """The messages that an address asks for: `ids`, `before`, `since`, `at`, or the newest."""
    size = _limit(asked.get("limit", ""))
    choices: Mapping[str, Callable[[str], MessageRun]] = {
        "ids": lambda _: chosen(messages, _ids(asked.getlist("ids"))),
        "before": lambda message_id: before(messages, message_id, size),
        "since": lambda message_id: since(messages, message_id),
        "at": lambda message_id: around(messages, message_id),
    }
    for name, choose in choices.items():
        if value := asked.get(name):
            return choose(value)
    return newest(messages, size)


def _window(messages: Sequence[Message], start: int, end: int) -> MessageRun:
    start = max(0, start)
    return MessageRun(messages=tuple(messages[start:end]), older=start, newer=len(messages) - end)


def _position(messages: Sequence[Message], message_id: str, *, default: int) -> int:
    return next((i for i, message in enumerate(messages) if message.id == message_id), default)


def _limit(text: str) -> int:
    digits = text if text.isascii() and text.isdecimal() else ""
    wanted = int(digits[:6] or PAGE_MESSAGES)  # reading many digits takes quadratic time
    return min(max(wanted, 1), MAX_PAGE_MESSAGES)


def _ids(values: Sequence[str]) -> list[str]:
    """Ids given one by one or joined by commas."""
    return [message_id for value in values for message_id in (value, *value.split(","))]
