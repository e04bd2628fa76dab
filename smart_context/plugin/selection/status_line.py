"""The status line: how many messages of a chat are in context, in words. Pure.

Command line, page and panel show this line unchanged.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from smart_context.chat.messages import MessageId
from smart_context.plugin.selection.absences import NOTICE, Absence, absences
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.relevance.reasons import KINDS, ReasonKind

SUMMARISED = "summed up"
CLEARED = "before the clearing"
OVER_WINDOW = "over the window"
WAITS = "waits: cheaper to send all for now"

_ENDINGS = (SUMMARISED, CLEARED, OVER_WINDOW)
_OVER_BUDGET = KINDS.index(ReasonKind.OVER_BUDGET)


def status_line(
    view: ChatView, decision: Decision, absent: Mapping[MessageId, Absence] | None = None
) -> str:
    """How many messages the next turn sends, and what besides the filter keeps some out.

    Notices of the program are not counted, since no model could get them. What the filter leaves
    out has no ending of its own, since the count shows it. A failed answer and the result of an
    old tool call have none either, since their messages show it.

    Args:
        decision: What is sent of it.
        absent: Their `absences`, if they are known.
    """
    if absent is None:
        absent = absences(view.messages, decision.candidates)
    total = len(view.messages) - sum(absence is NOTICE for absence in absent.values())
    sent = len(decision.messages)
    if absent or len(decision.candidates) != total:  # a plugin may have added messages
        ids = {message.id for message in view.messages}
        sent = sum(message.id in ids for message in decision.messages)
    counted = f"{sent:,} of {total:,} messages in context"
    if decision.selection.fell_back:
        counted = f"all {total:,} messages in context" if sent == total else counted
        counted = f"No message matches; {counted}"
    elif sent == total and (decision.waits or decision.selection.reasons.found is None):
        counted = "All messages in context"
    endings: Counter[str] = Counter()
    for absence, count in Counter(absent.values()).items():
        endings[_ending(absence)] += count
    endings[OVER_WINDOW] += int(np.count_nonzero(decision.selection.reasons.kinds == _OVER_BUDGET))
    words = [counted, *(f"{endings[e]:,} {e}" for e in _ENDINGS if endings[e])]
    return " · ".join([*words, WAITS] if decision.waits else words)


def _ending(absence: Absence) -> str:
    if absence.is_cleared:
        return CLEARED
    if absence.reason.kind is ReasonKind.SUMMARISED:
        return SUMMARISED
    return OVER_WINDOW if absence.reason.kind is ReasonKind.OVER_BUDGET else ""
