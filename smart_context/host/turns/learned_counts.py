"""Counts tokens for the window, and learns from what endpoints count.

What an estimate finds too few is corrected; what it finds too many is not, since a request that is
too long is worse than one that could have been longer.
"""

import json

from smart_context.host.turn import Turn
from smart_context.llm.tokens import TokenCounter, count_tokens

LEAST_COUNTED = 1_000
"""Shorter requests say little: an endpoint's own words around them weigh too much."""


class TokenCounts:
    """The counts of each model."""

    def __init__(self) -> None:
        self._counters: dict[str, TokenCounter] = {}

    def count(self, text: str, model: str) -> int:
        """The tokens of a text: exact where the tokenizer is known, else rather too many."""
        counter = self._counters.get(model)
        counted = count_tokens(text, model)
        return counted if counter is None else max(counted, counter.count(text))

    def learn(self, turn: Turn, model: str) -> None:
        """Take what the endpoint counted of a turn's last request into account."""
        if turn.usage is None or turn.images:
            return
        counter = self._counters.get(model) or TokenCounter(model)
        schemas = [] if turn.tools_as_text else [tool.schema() for tool in turn.tools]
        tools = {"role": "system", "content": json.dumps(schemas) if schemas else ""}
        prompt = [*turn.sent, tools]
        if counter.is_exact or counter.count_prompt(prompt) < LEAST_COUNTED:
            return
        counter.calibrate(prompt, turn.usage)
        self._counters[model] = counter
