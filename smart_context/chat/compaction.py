"""The compactions of a chat: summaries that replace all older messages (docs/history.md).

Such a summary is a message with `is_summary`. It follows its boundary, the last message that it
replaces, and names it under `compaction`. So compactions are merged, edited and deleted like other
messages.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import reattach
from smart_context.chat.history import CompactionPoint
from smart_context.chat.messages import Message, MessageId, give_ids, standing_for, summarized_by

CompactionKind = Literal["compacted", "cleared"]

COMPACTION = "compaction"


def summary_message(
    message_id: MessageId, text: str, *, boundary: MessageId, created_at: str, kind: CompactionKind
) -> Message:
    """A summary of a chat up to and including the message `boundary`."""
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
    """The last message that a summary replaces; empty if it names none, or is a topic's summary."""
    boundary = _about(summary).get("boundary_message_id")
    return boundary if isinstance(boundary, str) and not summarized_by(summary) else ""


def is_clearing(summary: Message) -> bool:
    """True for a clearing: the messages before it are not sent in any form."""
    return _about(summary).get("kind") == "cleared"


def insert_after(document: JsonObject, boundary: MessageId, summary: Message) -> bool:
    """Insert a summary into a chat's document; false if its boundary is gone."""
    give_ids(document)
    entries = document["messages"]
    for position in reversed(range(len(entries))):
        if isinstance(entries[position], dict) and entries[position]["id"] == boundary:
            entries.insert(position + 1, summary.to_dict())
            return True
    return False


def without_summary(document: JsonObject, summary_id: MessageId) -> bool:
    """Remove a summary from a chat's document; false if it was not there."""
    entries = document.get("messages")
    if not isinstance(entries, list):
        return False
    kept = [e for e in entries if not (isinstance(e, dict) and e.get("id") == summary_id)]
    if len(kept) == len(entries):
        return False
    # Messages after the summary, on branches too, then follow the message before it.
    reattach(document, summary_id)
    document["messages"] = kept
    return True


def newest_summary(messages: Sequence[Message]) -> Message | None:
    """The summary in force: the newest whose boundary is still in the chat."""
    known = {message.id for message in messages}
    usable = (m for m in reversed(messages) if m.is_summary and boundary_of(m) in known)
    return next((m for m in usable if not (m.error or m.error_code)), None)


def since(messages: Sequence[Message], summary: Message | None) -> list[Message]:
    """The finished messages after a summary's boundary; topic summaries replace their messages."""
    boundary = boundary_of(summary) if summary else ""
    last = next((i for i, message in enumerate(messages) if message.id == boundary), -1)
    behind = standing_for(messages)
    standing = {each.id for each in behind.values()}
    return [
        message
        for message in messages[last + 1 :]
        if message.is_complete
        and message.id not in behind
        and (not message.is_summary or message.id in standing)
    ]


def sent_text(message: Message) -> str:
    """A message's text as a model gets it, with tool calls and their results."""
    if isinstance(message.content, str):
        return message.content
    calls = (part for part in message.content if part.get("type") == "tool_call")
    fields = (part.get(name) for part in calls for name in ("tool_name", "args", "result"))
    texts = (_text(value) for value in fields if value is not None)
    return "\n".join((message.text, *texts))


def within_budget(
    history: Sequence[Message],
    max_tokens: int,
    cost: Callable[[Message], int],
    *,
    keep: Collection[MessageId] = (),
) -> list[Message]:
    """The newest messages of a history that fit, and those that are always kept, oldest first.

    A leading system message, summaries and the messages in `keep` are always kept, even if they
    exceed the budget. Tool results are kept or left out with their call. The first message that
    does not fit ends the history, but one that alone takes more than half of the budget is
    skipped.

    Args:
        cost: The tokens of one message; not called for messages beyond the end.
        keep: Messages that are never left out, such as pinned ones.
    """
    kept = _staying(history, keep)
    left = max_tokens - sum(cost(history[position]) for position in kept)
    end = len(history)
    while end > 0:
        run = range(end - 1, end)  # nearly always
        if history[end - 1].role == "tool":
            run = _run_around(history, end - 1)
        end = run.start
        if end in kept:
            continue
        tokens = sum([cost(history[position]) for position in run])
        if tokens <= left:
            left -= tokens
            kept.update(run)
        elif tokens <= max_tokens // 2:
            break
    return [history[position] for position in sorted(kept)]


def _about(summary: Message) -> JsonObject:
    about = summary.extra.get(COMPACTION)
    return about if isinstance(about, dict) else {}


def _staying(history: Sequence[Message], keep: Collection[MessageId]) -> set[int]:
    """The positions of messages that are always kept, with their tool results."""
    wanted = [i for i, message in enumerate(history) if message.is_summary or message.id in keep]
    if history and history[0].role == "system":
        wanted.append(0)
    return set().union(*(_run_around(history, position) for position in wanted))


def _run_around(history: Sequence[Message], position: int) -> range:
    """The positions of a message and the tool results after it, which stay together."""
    first, end = position, position + 1
    while first > 0 and history[first].role == "tool":
        first -= 1
    while end < len(history) and history[end].role == "tool":
        end += 1
    return range(first, end)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
