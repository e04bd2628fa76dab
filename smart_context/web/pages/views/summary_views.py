"""Summaries as a page shows them, and the messages that they replace."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from smart_context.chat.compaction import boundary_of, is_clearing, newest_summary
from smart_context.chat.messages import Message

_HEADLINE = re.compile(r"\*(Summary of [^\n,]+)(?:, ([^\n]+?))?\.\*\s*\n")
"""The first line of the product's summaries: of how much, and by whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """A summary as a card.

    Attributes:
        title: What it replaces.
        by: Who wrote it, or how; empty if unknown.
        is_cleared: It replaces messages that are no longer sent in any form.
    """

    title: str
    by: str = ""
    is_cleared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionView:
    """The compaction in use, as it applies to some messages of a chat.

    Attributes:
        summary: The id of its summary; empty if there is none.
        boundary: The id of the last message that the summary replaces.
        count: Number of those messages that are compacted, from the first on.
    """

    summary: str = ""
    boundary: str = ""
    count: int = 0


def summary_view(message: Message) -> tuple[SummaryView, Message]:
    """A summary's card, and the summary without what the card shows."""
    if is_clearing(message):
        return SummaryView(title="Context cleared here", is_cleared=True), message
    found = _HEADLINE.match(message.text)
    if found is None:
        return SummaryView(title="Summary of the messages above"), message
    rest = message.with_content(message.text[found.end() :].lstrip("\n"))
    return SummaryView(title=found[1], by=found[2] or ""), rest


def compaction_view(messages: Sequence[Message], shown: Sequence[Message]) -> CompactionView:
    """The compaction in use, as it applies to some messages of a chat.

    Args:
        messages: All of the chat.
        shown: A part of them, in the same order.
    """
    summary = newest_summary(messages)
    if summary is None:
        return CompactionView()
    boundary = boundary_of(summary)
    compacted: set[str] = set()
    for message in messages:
        compacted.add(message.id)
        if message.id == boundary:
            break
    count = sum(message.id in compacted for message in shown)
    return CompactionView(summary=summary.id, boundary=boundary, count=count)
