"""The status line: how many messages of a chat are in context, in words. Pure.

Command line, page and panel show this line unchanged.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from smart_context.base.text.saying import said
from smart_context.chat.messages import MessageId
from smart_context.plugin.selection.absences import NOTICE, Absence, absences
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.relevance.reasons import KINDS, ReasonKind
from smart_context.topics.stored import MOST_COUNTING

SUMMARISED = "summed up"
CLEARED = "before the clearing"
OVER_WINDOW = "over the window"

_ENDINGS = (SUMMARISED, CLEARED, OVER_WINDOW)
_OVER_BUDGET = KINDS.index(ReasonKind.OVER_BUDGET)


class Status(NamedTuple):
    """The number of messages that the next turn sends, in words."""

    line: str  # with other reasons than the filter: `5 of 14 messages in context · …`
    short: str  # for narrow places: `5 of 14`


def status(
    view: ChatView, decision: Decision, absent: Mapping[MessageId, Absence] | None = None
) -> Status:
    """The number of messages that the next turn sends, and other reasons than the filter for it.

    If the reasons can't be put into words, only the count is given, so that choices still work.

    Notices of the program are not counted, since they are never sent. The line gives no reason for
    messages that the filter leaves out, since the count shows them, nor for failed answers and
    results of old tool calls, since those messages show it themselves.

    Args:
        absent: The `absences` of the messages, if they are known.
    """
    sent = f"{len(decision.messages)} of {len(view.messages)}"
    return said(
        lambda: _status(view, decision, absent), Status(f"{sent} messages in context", sent)
    )


def _status(
    view: ChatView, decision: Decision, absent: Mapping[MessageId, Absence] | None
) -> Status:
    if absent is None:
        absent = absences(view.messages, decision.candidates)
    total = len(view.messages) - sum(absence is NOTICE for absence in absent.values())
    sent = len(decision.messages)
    if absent or len(decision.candidates) != total:  # a plugin may have added messages
        ids = {message.id for message in view.messages}
        sent = sum(message.id in ids for message in decision.messages)
    short = f"{sent} of {total}"
    counted = f"{short} messages in context"
    if decision.selection.fell_back:
        counted = f"all {total} messages in context" if sent == total else counted
        short, counted = "No match", f"No message matches; {counted}"
    elif sent == total and decision.selection.reasons.found is None:
        short, counted = "All", "All messages in context"
    endings: Counter[str] = Counter()
    for absence, count in Counter(absent.values()).items():
        endings[_ending(absence)] += count
    endings[OVER_WINDOW] += int(np.count_nonzero(decision.selection.reasons.kinds == _OVER_BUDGET))
    words = [counted, *(f"{endings[e]} {e}" for e in _ENDINGS if endings[e])]
    if view.more_topics:
        words.append(f"{MOST_COUNTING} of {MOST_COUNTING + view.more_topics:,} topics")
    return Status(" · ".join(words), short)


def _ending(absence: Absence) -> str:
    if absence.is_cleared:
        return CLEARED
    if absence.reason.kind is ReasonKind.SUMMARISED:
        return SUMMARISED
    return OVER_WINDOW if absence.reason.kind is ReasonKind.OVER_BUDGET else ""
