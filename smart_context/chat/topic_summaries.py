"""Summaries of a topic: messages that stand for just those that they name (docs/history.md).

Any number stand side by side in a chat. A summary of all that was said before it names a boundary
instead; those are in `compaction.py`.
"""

from collections.abc import Mapping, Sequence

from smart_context.chat.messages import Message, MessageId

SUMMARIZES = "summarizes"
"""The key of the ids that a summary stands for."""

TOPICS = "topics"
"""The key of the labels that a summary was made for, for people."""


def topic_summary(
    message_id: MessageId,
    text: str,
    *,
    summarizes: Sequence[MessageId],
    topics: Sequence[str],
    created_at: str,
) -> Message:
    """A summary that stands for these messages."""
    return Message(
        id=message_id,
        role="system",
        content=text,
        created_at=created_at,
        is_summary=True,
        extra={SUMMARIZES: list(summarizes), TOPICS: list(topics)},
    )


def summarized_by(message: Message) -> tuple[MessageId, ...]:
    """The messages that a summary of a topic stands for; none for any other message."""
    named = message.extra.get(SUMMARIZES) if message.is_summary else None
    ids = named if isinstance(named, list | tuple) else ()
    return tuple(MessageId(each) for each in ids if isinstance(each, str))


def standing_for(messages: Sequence[Message]) -> Mapping[MessageId, Message]:
    """The messages behind a summary of their topic, each with that summary.

    A summary that failed stands for nothing. If two name a message, the later one counts.
    """
    summaries = [message for message in messages if message.is_summary]
    named = [(summary, ids) for summary in summaries if (ids := summarized_by(summary))]
    if not named:
        return {}
    known = {message.id for message in messages}
    return {
        message_id: summary
        for summary, ids in named
        if summary.is_complete and summary.role != "tool"
        for message_id in ids
        if message_id in known and message_id != summary.id
    }
