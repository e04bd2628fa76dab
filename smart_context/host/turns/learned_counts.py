"""Counts tokens for the window, and learns from what endpoints count.

Only counts that were too low are corrected: a request that is too long fails, while one that is
too short could merely have been longer.
"""

from smart_context.base.values import CountTokens
from smart_context.host.request.request import schemas_text
from smart_context.host.turn import Turn
from smart_context.llm.tokens import TokenCounter, count_tokens

LEAST_COUNTED = 1_000
"""Smallest request to learn from; in shorter ones the endpoint's own words weigh too much."""


class TokenCounts:
    """The token counter of each model."""

    def __init__(self) -> None:
        self._counters: dict[str, TokenCounter] = {}

    def of(self, model: str) -> CountTokens:
        """The counter of a model: exact if its tokenizer is known, else on the high side."""
        return lambda text: self.count(text, model)

    def count(self, text: str, model: str) -> int:
        """The tokens of a text for a model."""
        counter = self._counters.get(model)
        counted = count_tokens(text, model)
        return counted if counter is None else max(counted, counter.count(text))

    def learn(self, turn: Turn, prompt_tokens: int) -> None:
        """Learn from what the endpoint counted of a turn's last request."""
        if turn.window is None or turn.request.images:
            return
        model = turn.window.model
        counter = self._counters.get(model) or TokenCounter(model)
        tools = {"role": "system", "content": schemas_text(turn.request.offered())}
        prompt = [*turn.sent, tools]
        if counter.is_exact or counter.count_prompt(prompt) < LEAST_COUNTED:
            return
        counter.calibrate(prompt, prompt_tokens)
        self._counters[model] = counter
