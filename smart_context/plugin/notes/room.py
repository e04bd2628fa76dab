"""The room that a budget of tokens leaves for the paragraphs of a prompt."""

import math

from smart_context.base.values import CountTokens
from smart_context.llm.tokens import beginning, estimate

_HOPELESS = 3  # if the estimate exceeds the room this many times, no exact count is needed


class Room:
    """The rest of a budget.

    Args:
        budget: In tokens; 0 is no limit.
    """

    def __init__(self, budget: int, count_tokens: CountTokens) -> None:
        self._left = budget or math.inf
        self._count = count_tokens

    def take(self, text: str) -> int | None:
        """Take the tokens of a paragraph; `None` if it does not fit."""
        if estimate(text) > _HOPELESS * self._left:
            return None
        tokens = self._count(f"{text}\n\n")
        if tokens > self._left:
            return None
        self._left -= tokens
        return tokens

    def close(self) -> None:
        """Let nothing more in."""
        self._left = 0

    def head_of(self, text: str) -> str:
        """The beginning of a text that did not fit, about as much as fits."""
        left = int(self._left)
        head = beginning(text, left)
        while head and (tokens := self._count(head)) > left:
            head = head[: min(int(len(head) * left / tokens), len(head) - 1)]
        return head
