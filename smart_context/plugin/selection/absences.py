"""The messages of a chat that the filter does not decide about, and why.

Messages that failed or are empty, notices of the program, and messages that a summary covers or
that don't fit into the window, never become candidates. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from smart_context.chat.compaction import boundary_of, is_clearing
from smart_context.chat.messages import CUT, Message, MessageId, standing_for, summarized_by
from smart_context.chat.tool_pairs import has_tool_calls
from smart_context.relevance.reasons import Reason, ReasonKind


@dataclass(frozen=True, slots=True, eq=False)
class Absence:
    """The reason why messages are not candidates; one object for all of them, to count fast."""

    reason: Reason
    is_cleared: bool = False  # True if the user cleared the chat after them, without a summary


FAILED = Absence(Reason(kind=ReasonKind.FAILED))
NOTICE = Absence(Reason(kind=ReasonKind.NOTICE))
EMPTY = Absence(Reason(kind=ReasonKind.EMPTY))
OLD_TOOL = Absence(Reason(kind=ReasonKind.OLD_TOOL))
OVER_WINDOW = Absence(Reason(kind=ReasonKind.OVER_BUDGET))
BEHIND = Absence(Reason(kind=ReasonKind.SUMMARISED))


def absences(
    messages: Sequence[Message], candidates: Sequence[Message]
) -> dict[MessageId, Absence]:
    """The messages of a chat that are not candidates, in the chat's order.

    Args:
        messages: All stored messages, oldest first.
        candidates: The messages that the filter decides about.
    """
    if candidates == messages:
        return {}
    known = {message.id for message in candidates}
    cleared, summarised = _last_places(messages)
    summarised = max(cleared, summarised)
    behind = standing_for(messages)
    summaries = (m for m in candidates if m.is_summary and not summarized_by(m))
    summary = next(summaries, None)
    reason = Reason(kind=ReasonKind.SUMMARISED, detail=_day(summary) if summary else "")
    covered, before_clearing = Absence(reason), Absence(reason, is_cleared=True)
    found: dict[MessageId, Absence] = {}
    for place, message in enumerate(messages):
        if message.id in known:
            continue
        if message.error or message.error_code:
            found[message.id] = FAILED
        elif message.is_extracted:
            found[message.id] = NOTICE
        elif place <= summarised:
            found[message.id] = before_clearing if place <= cleared else covered
        else:
            is_behind = message.id in behind or message.is_summary
            found[message.id] = BEHIND if is_behind else _absence_of(message)
    return found


def _absence_of(message: Message) -> Absence:
    """The reason why a message without a summary is not sent."""
    is_blank = not message.text.strip()
    if message.extra.get(CUT):
        return OVER_WINDOW
    if message.role == "tool" or (is_blank and has_tool_calls(message)):
        return OLD_TOOL
    return EMPTY if is_blank else OVER_WINDOW


def _last_places(messages: Sequence[Message]) -> tuple[int, int]:
    """The last cleared position, and the last summarised one; -1 if there is none."""
    said = [m for m in messages if m.is_summary and not (m.error or m.error_code)]
    bounds = {boundary_of(summary) for summary in said}
    places = {m.id: place for place, m in enumerate(messages) if m.id in bounds} if said else {}
    last = {True: -1, False: -1}
    for summary in said:
        place = places.get(MessageId(boundary_of(summary)), -1)
        is_cleared = is_clearing(summary)
        last[is_cleared] = max(last[is_cleared], place)
    return last[True], last[False]


def _day(summary: Message) -> str:
    try:
        written = datetime.fromisoformat(summary.created_at)
    except ValueError:
        return ""
    return f"{written.day} {written:%B}"
