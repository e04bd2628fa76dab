"""Where summaries stand in a chat (contract E2).

A summary is a message of its own with `is_summary`, right behind the last message that it stands
for; which one that is stands in its `compaction`. So a chat carries its compactions with its
messages: whoever merges, edits or deletes messages need not know of them.
"""

from collections.abc import Callable, Collection, Sequence
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


def without_summary(document: JsonObject, summary_id: MessageId) -> bool:
    """Take a summary out of a chat's document; whether it was there."""
    entries = document.get("messages")
    if not isinstance(entries, list):
        return False
    kept = [e for e in entries if not (isinstance(e, dict) and e.get("id") == summary_id)]
    document["messages"] = kept
    return len(kept) < len(entries)


def newest_summary(messages: Sequence[Message]) -> Message | None:
    """The summary that counts: the newest whose boundary is still in the chat."""
    known = {message.id for message in messages}
    usable = (m for m in reversed(messages) if m.is_summary and boundary_of(m) in known)
    return next((m for m in usable if not (m.error or m.error_code)), None)


def since(messages: Sequence[Message], summary: Message | None) -> list[Message]:
    """What was said after what a summary stands for: neither unfinished nor failed."""
    boundary = boundary_of(summary) if summary else ""
    place = next((at for at, message in enumerate(messages) if message.id == boundary), -1)
    return [
        message
        for message in messages[place + 1 :]
        if not (message.is_summary or message.generating or message.error or message.error_code)
    ]


def sent_text(message: Message) -> str:
    """About all of a message that a model reads: its text, and its tools' arguments and results."""
    if isinstance(message.content, str):
        return message.content
    tools = (
        f"{part.get('tool_name')} {part.get('args')} {part.get('result')}"
        for part in message.content
        if part.get("type") == "tool_call"
    )
    return "\n".join((message.text, *tools))


def within_budget(
    history: Sequence[Message],
    max_tokens: int,
    cost: Callable[[Message], int],
    *,
    keep: Collection[MessageId] = (),
) -> list[Message]:
    """The history without as many of its oldest messages as are too much.

    A leading system message and summaries stay, and so does what is to be kept, even if that is
    too much by itself. A tool's result goes with its call.

    Args:
        history: Oldest first.
        max_tokens: Most tokens of all.
        cost: The tokens of one message.
        keep: What never goes, such as what the user pinned.
    """
    over = sum(map(cost, history)) - max_tokens
    if over <= 0:
        return list(history)
    kept: list[Message] = []
    has_dropped_caller = False
    for at, message in enumerate(history):
        stays = message.id in keep or message.is_summary or (at == 0 and message.role == "system")
        belongs = message.role == "tool" and has_dropped_caller
        if stays or (over <= 0 and not belongs):
            kept.append(message)
            has_dropped_caller = False
        else:
            over -= cost(message)
            has_dropped_caller = message.role != "user"
    return kept
