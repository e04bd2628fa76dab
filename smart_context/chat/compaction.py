"""Where summaries stand in a chat (contract E2).

A summary is a message of its own with `is_summary`, right behind the last message that it stands
for; which one that is stands in its `compaction`. So a chat carries its compactions with its
messages: whoever merges, edits or deletes messages need not know of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from smart_context.chat.history import CompactionPoint
from smart_context.chat.messages import JsonObject, Message, MessageId

Kind = Literal["compacted", "cleared"]

COMPACTION = "compaction"


def summary_message(
    message_id: MessageId, text: str, *, boundary: MessageId, created_at: str, kind: Kind
) -> Message:
    """A summary of what a chat holds up to and with the message `boundary`."""
    return Message(
        id=message_id,
        role="system",
        content=text,
        created_at=created_at,
        is_summary=True,
        extra={COMPACTION: {"boundary_message_id": boundary, "kind": kind}},
    )


def compaction_points(messages: Sequence[Message]) -> list[CompactionPoint]:
    """The compactions of a chat, oldest first."""
    return [
        CompactionPoint(message.id, boundary, float(order))
        for order, message in enumerate(messages)
        if message.is_summary and (boundary := boundary_of(message))
    ]


def boundary_of(summary: Message) -> str:
    """The last message that a summary stands for; empty when it does not say."""
    about = summary.extra.get(COMPACTION)
    boundary = about.get("boundary_message_id") if isinstance(about, dict) else None
    return boundary if isinstance(boundary, str) else ""


def insert_after(document: JsonObject, boundary: MessageId, summary: Message) -> bool:
    """Put a summary into a chat's document; whether its boundary is still there."""
    entries: list[Any] = document.get("messages") or []
    for at in reversed(range(len(entries))):
        if isinstance(entries[at], dict) and entries[at].get("id") == boundary:
            entries.insert(at + 1, summary.to_dict())
            return True
    return False


def within_budget(
    history: Sequence[Message], max_tokens: int, cost: Callable[[Message], int]
) -> list[Message]:
    """The newest messages that fit; the last one always stays.

    What leads, a system message or a summary, stays before others do. A tool's result does not
    begin a history.

    Args:
        history: Oldest first, the current message last.
        max_tokens: Most tokens of all.
        cost: The tokens of one message.
    """
    leading = 0
    while leading < len(history) - 1 and _leads(history[leading]):
        leading += 1
    left = max_tokens - sum(map(cost, history[:leading]))
    first = len(history)
    while first > leading:
        left -= cost(history[first - 1])
        if left < 0 and first < len(history):
            break
        first -= 1
    if first > leading:
        while first < len(history) - 1 and history[first].role == "tool":
            first += 1
    return [*history[:leading], *history[first:]]


def _leads(message: Message) -> bool:
    return message.role == "system" or message.is_summary
