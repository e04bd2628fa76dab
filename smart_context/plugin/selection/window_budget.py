"""Keeps a chat's history within the model's window."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from smart_context.chat.compaction import boundary_of, is_clearing, sent_text, within_budget
from smart_context.chat.messages import CUT, Message, MessageId, standing_for, summarized_by
from smart_context.chat.tool_pairs import has_tool_calls
from smart_context.host.request.tokens import PER_MESSAGE, message_tokens
from smart_context.host.request.window import Window
from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.tokens import counting
from smart_context.plugin.choices.state import FilterState
from smart_context.relevance.reasons import KINDS, Reason, ReasonKind
from smart_context.relevance.select import Selection

_OVER = np.int8(KINDS.index(ReasonKind.OVER_BUDGET))


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowBudget:
    """The tokens that the history may take."""

    # gives the model's window; `None` if unknown, so that nothing is left out
    window: Callable[[], Window | None] = lambda: None
    contexts: int = 0  # the maximum tokens of the contexts that go with a message

    def for_contexts(self, budget: int) -> int:
        """The budget of attached contexts, capped by the window; 0 is no limit."""
        window = self.window()
        return budget if window is None else window.for_contexts(budget)

    def for_role(self, budget: int) -> int:
        """The role's budget, capped by the window."""
        window = self.window()
        return budget if window is None else window.for_role(budget)

    def limit(self, state: FilterState) -> tuple[str, int] | None:
        """The model that is asked, and the maximum tokens of the history; `None` if unknown.

        Args:
            state: The user's choices; contexts, recalls and role take room, too.
        """
        window = self.window()
        return None if window is None else (window.model, self._limit(window, state))

    def _limit(self, window: Window, state: FilterState) -> int:
        contexts = window.for_contexts(self.contexts) if state.contexts else 0
        recalled = sum(recall.max_tokens for recall in state.recalls)
        recalled = window.for_contexts(recalled) if recalled else 0
        return window.for_history(contexts=contexts + recalled, has_role=bool(state.role))

    def applied(
        self,
        selection: Selection,
        candidates: Sequence[Message],
        *,
        keep: Collection[MessageId],
        state: FilterState,
    ) -> Selection:
        """The selection without the oldest messages that exceed the window.

        Args:
            candidates: The messages that the filter decided about, chronological.
            keep: Standing instructions and pinned messages, which are never left out.
            state: The user's choices; contexts, recalls and role take room, too.
        """
        window = self.window()
        if window is None:
            return selection
        limit = self._limit(window, state)
        chosen = frozenset(selection.kept)
        kept = [message for message in candidates if message.id in chosen]
        if _surely_fits(kept, limit):
            return selection
        count = counting((sent_text(message) for message in reversed(kept)), window.count)
        fitting = within_budget(kept, limit, lambda m: message_tokens(m, count), keep=keep)
        left_out = chosen - {message.id for message in fitting}
        return over_budget(selection, candidates, left_out)


def _surely_fits(messages: Sequence[Message], limit: int) -> bool:
    """True if messages fit by their bytes, without counting tokens; False if they may not fit."""
    left = limit
    for message in reversed(messages):
        left -= utf8_bytes(sent_text(message)) + PER_MESSAGE
        if left < 0:
            return False
    return True


def over_budget(
    selection: Selection, candidates: Sequence[Message], left_out: Collection[MessageId]
) -> Selection:
    """The selection without messages that do not fit; they get `OVER_BUDGET`."""
    gone = frozenset(selection.kept).intersection(left_out)
    if not gone:
        return selection
    kinds = selection.reasons.kinds.copy()
    kinds[[place for place, m in enumerate(candidates) if m.id in gone]] = _OVER
    return replace(
        selection,
        kept=tuple(message_id for message_id in selection.kept if message_id not in gone),
        reasons=replace(selection.reasons, kinds=kinds),
    )


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
