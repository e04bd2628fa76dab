"""The properties at the top of a note.

Plain lines, the usual case, are read here; only the rest goes to the YAML reader, which is a
hundred times slower. Invalid YAML counts as no properties, never as an error.
"""

import re
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import Node

MAX_CHARACTERS: Final = 1 << 13
"""The longest text that is read: it takes a tenth of a second, two tenths at worst."""

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


_MAX_CHARACTERS = 1 << 16
_HUGE = 10**20
_END = re.compile(r"\n(?:---|\.\.\.)[ \t]*+(?:\r?\n|\Z)")
_KEY = re.compile(r"([^\W\d][\w.-]*+(?: ++[\w.-]++)*)[ \t]*+:(?:[ \t]++(.*+))?")
_ENTRY = re.compile(r"[ \t]*+-[ \t]++(.*+)")
_PLAIN = re.compile(r"[^\s\[\]{}&*!|>'\"%@`#,?:-][^#:\[\]{},]*+")
_QUOTED = re.compile(r"\"([^\"\\]*+)\"|'([^']*+)'")
_FLOW_ENTRY = re.compile(rf"[ \t]*+(?:(?:{_QUOTED.pattern})|({_PLAIN.pattern}))[ \t]*+(?:,|$)")
_LINK = re.compile(
    r"(?:[:,\[]|[\n ]-)[ \t]*+([\"'])(\[\[([^\[\]\n]++)\]\])\1(?=[ \t]*+(?:[,\]#]|\r?\n|\Z))"
)

Properties = dict[str, Any]


def front_matter_end(text: str) -> int:
    """The position where a note's body begins, after its front matter; 0 without any."""
    if not text.startswith(("---\n", "---\r\n")):
        return 0
    end = _END.search(text, 3)
    return end.end() if end else 0


def properties_of(text: str) -> Properties:
    """The properties of a note; `{}` when it has none, or none that can be read."""
    end = front_matter_end(text)
    if not end or end > _MAX_CHARACTERS:
        return {}
    source = text[text.index("\n") + 1 : end].rstrip().removesuffix("---").removesuffix("...")
    simple = _simple(source)
    if simple is not None:
        return simple
    from smart_context.vault.markdown.front_matter import (  # noqa: PLC0415 — 60 ms, and most vaults never need it
        read_yaml,
    )

    return read_yaml(source)


def names_in(properties: Properties, *keys: str) -> tuple[str, ...]:
    """The strings under any of the keys: a single one, a list, or separated by commas."""
    found: list[str] = []
    for key in keys:
        value = properties.get(key)
        entries = value.split(",") if isinstance(value, str) else value
        if isinstance(entries, list):
            found += (str(entry).strip() for entry in entries if _is_name(entry))
    return tuple(dict.fromkeys(whole_characters(name) for name in found if name))


def _is_name(entry: object) -> bool:
    """True for text, and for a number that is short enough for Python to print."""
    return isinstance(entry, str) or (isinstance(entry, int) and -_HUGE < entry < _HUGE)


def whole_characters(text: str) -> str:
    """The text with `?` for lone surrogates, which JSON allows but UTF-8 doesn't."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def links_in_properties(text: str, end: int) -> list[tuple[int, int, str]]:
    """The links in the properties: values and list entries that consist of one link.

    Returns:
        The start, the end and the text between the brackets of each link.
    """
    return [(found.start(2), found.end(2), found[3]) for found in _LINK.finditer(text, 0, end)]


def _simple(source: str) -> Properties | None:
    """The properties in plain `key: value` lines and lists; `None` if there is more."""
    properties: Properties = {}
    entries: list[str] | None = None
    for line in source.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if entry := _ENTRY.fullmatch(line):
            value = _scalar(entry[1])
            if entries is None or value is None:
                return None
            entries.append(value)
            continue
        key = _KEY.fullmatch(line)
        if key is None:
            return None
        text = (key[2] or "").strip()
        value_or_list = _value(text)
        if value_or_list is None:
            return None
        entries = None if text else []
        properties[key[1]] = value_or_list if entries is None else entries
    return properties


def _value(text: str) -> str | list[str] | None:
    if not text.startswith("["):
        return _scalar(text)
    if not text.endswith("]"):
        return None
    entries: list[str] = []
    inner, position = text[1:-1], 0
    while position < len(inner):
        entry = _FLOW_ENTRY.match(inner, position)
        if entry is None:
            return None if inner[position:].strip() else entries
        entries.append((entry[1] or entry[2] or entry[3] or "").strip())
        position = entry.end()
    return entries


def _scalar(text: str) -> str | None:
    text = text.strip()
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] if quoted[1] is not None else quoted[2]
    return text if not text or _PLAIN.fullmatch(text) else None
