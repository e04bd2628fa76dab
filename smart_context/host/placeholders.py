"""Unused ids, which commands get in place of chats that the caller may not use.

So a command always answers for another person's chat as for one that does not exist.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from smart_context.base.errors import SmartContextError
from smart_context.base.values import JsonObject


@dataclass(frozen=True, slots=True)
class Placeholders:
    """The placeholders of one call, by the requested id; usually none."""

    by_id: Mapping[str, str] = field(default_factory=dict)

    def put_into(self, params: Mapping[str, Any], naming: Iterable[str]) -> dict[str, Any]:
        """The parameters with the requested ids replaced by their placeholders.

        Args:
            naming: The parameters that name something owned, as an id or a list of ids.
        """
        if not self.by_id:
            return dict(params)
        named = {name: self._in_place_of(params[name]) for name in naming if name in params}
        return {**params, **named}

    def take_out(self, result: JsonObject) -> JsonObject:
        """A result with placeholders replaced by the requested ids, also within texts."""
        if not self.by_id:
            return result
        replaced: JsonObject = self._taken_out(result)
        return replaced

    def take_out_of_error(self, error: SmartContextError) -> None:
        """Replace placeholders in an error's words by the requested ids."""
        if self.by_id:
            error.args = tuple(map(self._taken_out, error.args))

    def _in_place_of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._in_place_of(each) for each in value]
        return self.by_id.get(value, value) if isinstance(value, str) else value

    def _taken_out(self, value: Any) -> Any:
        if isinstance(value, str):
            # A placeholder is long and random, so a text that has one is about that chat.
            for chat_id, placeholder in self.by_id.items():
                value = value.replace(placeholder, chat_id)
            return value
        if isinstance(value, Mapping):
            return {self._taken_out(key): self._taken_out(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._taken_out(each) for each in value]
        return value
