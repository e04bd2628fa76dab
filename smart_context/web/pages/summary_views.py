"""What a page shows of compactions: the summaries, and which messages they stand for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from smart_context.chat.compaction import boundary_of, is_clearing, newest_summary
from smart_context.chat.messages import Message

_HEADLINE = re.compile(r"\*(Summary of [^\n,]+)(?:, ([^\n]+?))?\.\*\s*\n")
"""How the product begins its summaries: of how much, and how it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """A summary as a card.

    Attributes:
        title: What it stands for.
        by: Who wrote it, or how; empty when it does not say.
        is_cleared: It stands for messages that are not sent in any form.
    """

    title: str
    by: str = ""
    is_cleared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionView:
    """The compaction that counts in a chat, seen from some of its messages.

    Attributes:
        summary: The id of its summary; empty when there is none.
        boundary: The id of the last message that the summary stands for.
        count: How many of those messages, from the first on, are compacted.
    """

    summary: str = ""
    boundary: str = ""
    count: int = 0


def summary_view(message: Message) -> tuple[SummaryView, Message]:
    """A summary's card, and the summary without what the card says already."""
    if is_clearing(message):
        return SummaryView(title="Context cleared here", is_cleared=True), message
    found = _HEADLINE.match(message.text)
    if found is None:
        return SummaryView(title="Summary of the messages above"), message
    rest = message.with_content(message.text[found.end() :].lstrip("\n"))
    return SummaryView(title=found[1], by=found[2] or ""), rest


def compaction_view(messages: Sequence[Message], shown: Sequence[Message]) -> CompactionView:
    """The compaction that counts, as seen from some of a chat's messages.

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
