"""Reads properties with the YAML parser, which is slow: within limits."""

from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import Node

MAX_CHARACTERS: Final = 1 << 13
"""The longest text that is read: a tenth of a second, or two at worst."""

_MOST_LEVELS: Final = 50


class _TooMuch(YAMLError):
    pass


class _BoundedComposer(Composer):
    """Refuses deep nesting, and aliases, which can multiply to billions of values."""

    level = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.parser.peek_event()
        self.level += 1
        if getattr(event, "anchor", None) is not None or self.level > _MOST_LEVELS:
            raise _TooMuch
        node: Node | None = super().compose_node(parent, index)
        self.level -= 1
        return node


def read_yaml(source: str) -> dict[str, Any]:
    """The table in a YAML text; `{}` if it is anything else, or beyond the limits."""
    if len(source) > MAX_CHARACTERS:
        return {}
    reader = YAML(typ="safe", pure=True)
    reader.Composer = _BoundedComposer
    reader.allow_duplicate_keys = True
    try:
        loaded = reader.load(source)
        if not isinstance(loaded, dict):
            return {}
        return {str(key): value for key, value in loaded.items()}
    except (YAMLError, ValueError, TypeError, AttributeError, ArithmeticError, LookupError):
        return {}
