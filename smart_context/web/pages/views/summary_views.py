"""Summaries as a page shows them, and the messages that they replace."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from smart_context.base.text.scores import counted
from smart_context.chat.compaction import boundary_of, is_clearing, newest_summary
from smart_context.chat.messages import Message, MessageId
from smart_context.chat.topic_summaries import TOPICS, standing_for, summarized_by

_HEADLINE = re.compile(r"\*(Summary of [^\n,]+)(?:, ([^\n]+?))?\.\*\s*\n")
"""The first line of the product's summaries: of how much, and by whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """A summary as a card."""

    title: str  # what it replaces
    by: str = ""  # who wrote it, or how; empty if unknown
    is_cleared: bool = False  # it replaces messages that are no longer sent in any form
    # the messages that it stands for; none for one of all that was said before
    summarizes: tuple[MessageId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionView:
    """The summaries in use, as they apply to some messages of a chat."""

    # the id of the summary of all that was said before it; empty if there is none
    summary: str = ""
    boundary: str = ""  # the id of the last message that it replaces
    count: int = 0  # number of those messages that it replaces, from the first on
    behind: frozenset[MessageId] = frozenset()  # the messages behind a summary of their topic
    of_topics: frozenset[MessageId] = frozenset()  # the ids of these summaries

    def covers(self, place: int, message: Message) -> bool:
        """True if a summary stands for a message, the one at that place among those shown."""
        return place < self.count or message.id in self.behind


def summary_view(message: Message) -> tuple[SummaryView, Message]:
    """A summary's card, and the summary without what the card shows."""
    if is_clearing(message):
        return SummaryView(title="Context cleared here", is_cleared=True), message
    found = _HEADLINE.match(message.text)
    rest = message.with_content(message.text[found.end() :].lstrip("\n")) if found else message
    by = found[2] or "" if found else ""
    if ids := summarized_by(message):
        named = message.extra.get(TOPICS)
        labels = ", ".join(map(str, named if isinstance(named, list | tuple) else ()))
        title = f"Summary of {labels or 'a topic'} · {counted(len(ids), 'message')}"
        return SummaryView(title=title, by=by, summarizes=ids), rest
    title = found[1] if found else "Summary of the messages above"
    return SummaryView(title=title, by=by), rest


def compaction_view(messages: Sequence[Message], shown: Sequence[Message]) -> CompactionView:
    """The compaction in use, as it applies to some messages of a chat.

    Args:
        messages: All of the chat.
        shown: A part of them, in the same order.
    """
    standing = standing_for(messages)
    of_topics = frozenset(each.id for each in standing.values())
    summary = newest_summary(messages)
    if summary is None:
        return CompactionView(behind=frozenset(standing), of_topics=of_topics)
    boundary = boundary_of(summary)
    compacted: set[str] = set()
    for message in messages:
        compacted.add(message.id)
        if message.id == boundary:
            break
    count = sum(message.id in compacted for message in shown)
    return CompactionView(
        summary=summary.id,
        boundary=boundary,
        count=count,
        behind=frozenset(standing),
        of_topics=of_topics,
    )
