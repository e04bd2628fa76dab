"""Assembles the tool calls of an answer from their fragments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smart_context.llm.failures import AnswerNotUnderstood
from smart_context.llm.models import ToolCall

_MOST_CALLS = 128
_LONGEST_NAME = 200
_LONGEST_ID = 10_000
"""Some gateways store state for the next request in it."""


@dataclass(slots=True)
class _Call:
    id: str
    index: object
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ToolCalls:
    """Tool calls assembled from fragments, matched by id, or else by index."""

    calls: list[_Call] = field(default_factory=list)

    def add(self, fragment: Mapping[str, Any]) -> int:
        """Add a fragment; returns the number of characters it added."""
        call = self._call(str(fragment.get("id") or "")[:_LONGEST_ID], fragment.get("index"))
        function = fragment.get("function")
        if not isinstance(function, Mapping):
            return 0
        call.name = call.name or str(function.get("name") or "")[:_LONGEST_NAME]
        call.arguments.append(_arguments(function.get("arguments")))
        return len(call.arguments[-1])

    def _call(self, call_id: str, index: object) -> _Call:
        for call in reversed(self.calls):
            if (call_id and call.id == call_id) or (not call_id and call.index == index):
                return call
        if not call_id and index is None and self.calls:
            return self.calls[-1]
        if len(self.calls) == _MOST_CALLS:
            raise AnswerNotUnderstood(f"more than {_MOST_CALLS} tool calls in one answer")
        self.calls.append(_Call(call_id, index))
        return self.calls[-1]

    @property
    def whole(self) -> tuple[ToolCall, ...]:
        """The calls as far as they have arrived."""
        return tuple(
            ToolCall(
                id=call.id or f"call_{number}", name=call.name, arguments="".join(call.arguments)
            )
            for number, call in enumerate(self.calls)
        )


def _arguments(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)
