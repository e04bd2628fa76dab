"""Keeps a chat's history within the model's window."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smart_context.chat.compaction import sent_text, within_budget
from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.tokens import PER_MESSAGE, message_tokens
from smart_context.host.request.window import Window
from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.tokens import counting
from smart_context.plugin.choices.state import FilterState
from smart_context.relevance.reasons import KINDS, ReasonKind
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
