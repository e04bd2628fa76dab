"""Keeps what a chat sends within the model's window, and says what had to stay out."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smart_context.chat.compaction import sent_text, within_budget
from smart_context.chat.messages import Message, MessageId
from smart_context.relevance.reasons import KINDS, ReasonKind
from smart_context.relevance.select import Selection

HISTORY_SHARE = 0.8
"""How much of the window history and attached contexts fill; the rest is for message and answer."""

LEAST_SHARE = 0.2
"""How much of it the history has in any case."""

ROLE_SHARE = 0.3
"""How much of it the role of a chat has at most, with its files."""

_PER_MESSAGE = 8
_MOST_TOKENS_A_CHARACTER = 3
_OVER = np.int8(KINDS.index(ReasonKind.OVER_BUDGET))


def role_budget(wanted: int, window: int | None) -> int:
    """The tokens that a role may take which would take so many.

    Args:
        wanted: Its own budget.
        window: The tokens that the model takes; `None`: not known, so its own budget holds.
    """
    return wanted if window is None else min(wanted, int(window * ROLE_SHARE))


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowBudget:
    """What the history may cost.

    Attributes:
        window: Gives the tokens that the model takes; `None`: not known, so nothing is left out.
        count_tokens: Counts for that model.
        contexts: Most tokens of the contexts that go with a message.
    """

    window: Callable[[], int | None] = lambda: None
    count_tokens: Callable[[str], int] = len
    contexts: int = 0

    def applied(
        self,
        selection: Selection,
        candidates: Sequence[Message],
        *,
        keep: Collection[MessageId],
        has_contexts: bool,
        has_role: bool = False,
    ) -> Selection:
        """The selection without its oldest messages, as far as they are too much.

        Args:
            selection: What is in.
            candidates: The messages that it is about, chronological.
            keep: Standing instructions and what the user pinned: never left out.
            has_contexts: Whether contexts go with the message.
            has_role: Whether a role goes with it.
        """
        window = self.window()
        if window is None:
            return selection
        limit = int(window * HISTORY_SHARE) - (self.contexts if has_contexts else 0)
        limit -= int(window * ROLE_SHARE) if has_role else 0
        limit = max(limit, int(window * LEAST_SHARE))
        chosen = frozenset(selection.kept)
        kept = [message for message in candidates if message.id in chosen]
        fitting = within_budget(kept, limit, self._bound, keep=keep)
        if len(fitting) < len(kept):
            fitting = within_budget(kept, limit, self._cost, keep=keep)
        if len(fitting) == len(kept):
            return selection
        left_out = chosen - {message.id for message in fitting}
        kinds = selection.reasons.kinds.copy()
        kinds[[at for at, m in enumerate(candidates) if m.id in left_out]] = _OVER
        return replace(
            selection,
            kept=tuple(message.id for message in fitting),
            reasons=replace(selection.reasons, kinds=kinds),
        )

    def _cost(self, message: Message) -> int:
        return self.count_tokens(sent_text(message)) + _PER_MESSAGE

    @staticmethod
    def _bound(message: Message) -> int:
        """What a message costs at most; counting a long chat for nothing takes its time."""
        return len(sent_text(message)) * _MOST_TOKENS_A_CHARACTER + _PER_MESSAGE
