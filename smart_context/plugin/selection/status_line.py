"""The status line: how many messages of a chat are in context, in words. Pure.

Command line, page and panel show this line as it is; nobody else words it.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from smart_context.chat.compaction import boundary_of, is_clearing
from smart_context.chat.messages import Message, MessageId
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.relevance.reasons import KINDS, ReasonKind

SUMMED_UP = "summed up"
CLEARED = "before the clearing"
OVER_WINDOW = "over the window"

_ENDINGS = (SUMMED_UP, CLEARED, OVER_WINDOW)
_OVER_BUDGET = KINDS.index(ReasonKind.OVER_BUDGET)


def status_line(view: ChatView, decision: Decision) -> str:
    """How many of the chat's messages the next turn sends, and what else keeps some out.

    What the filter leaves out has no ending of its own: the count tells it. A failed answer has
    none either; its message says so.
    """
    absent = _not_asked_about(view, decision)
    total = len(view.messages)
    ids = {message.id for message in view.messages} if absent else frozenset()
    sent = sum(m.id in ids for m in decision.messages) if absent else len(decision.messages)
    counted = f"{sent} of {total} messages in context"
    if decision.selection.fell_back:
        counted = f"all {total} messages in context" if sent == total else counted
        counted = f"No message matches; {counted}"
    elif sent == total and not view.sidecar.state.active_topics:
        return "All messages in context"
    why = _reasons(view.messages, absent)
    why[OVER_WINDOW] += int(np.count_nonzero(decision.selection.reasons.kinds == _OVER_BUDGET))
    return " · ".join([counted, *(f"{why[ending]} {ending}" for ending in _ENDINGS if why[ending])])


def _not_asked_about(view: ChatView, decision: Decision) -> frozenset[str]:
    """The messages of the chat that are no candidates."""
    if decision.candidates == view.messages:
        return frozenset()
    candidates = {message.id for message in decision.candidates}
    return frozenset(m.id for m in view.messages if m.id not in candidates)


def _reasons(messages: Sequence[Message], absent: frozenset[str]) -> Counter[str]:
    """How many of the absent messages there are for each reason."""
    cleared, summed_up = _last_place_before(messages)
    reasons: Counter[str] = Counter()
    for place, message in enumerate(messages):
        if message.id not in absent or message.error or message.error_code:
            continue
        if place <= cleared:
            reasons[CLEARED] += 1
        elif place <= summed_up or message.is_summary:
            reasons[SUMMED_UP] += 1
        else:
            reasons[OVER_WINDOW] += 1
    return reasons


def _last_place_before(messages: Sequence[Message]) -> tuple[int, int]:
    """Up to which place messages are cleared, and up to which they are summed up; -1: none."""
    place_of = {message.id: place for place, message in enumerate(messages)}
    last = {True: -1, False: -1}
    for summary in messages:
        if summary.is_summary and not (summary.error or summary.error_code):
            place = place_of.get(MessageId(boundary_of(summary)), -1)
            is_cleared = is_clearing(summary)
            last[is_cleared] = max(last[is_cleared], place)
    return last[True], last[False]
