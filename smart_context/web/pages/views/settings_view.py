"""The settings as the page words them: a title for each, and plain words for its choices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomli

from smart_context.base.resources import text_beside

WORDS: Mapping[str, Mapping[str, str]] = tomli.loads(text_beside(__file__, "settings_words.toml"))
"""How settings are worded: their `titles`, `hints` and `choices`, and those of a `turn`."""

_OF_CONNECTIONS = frozenset({"llm.base_url", "llm.api_key_env", "llm.categories.chat"})
"""What the page's list of connections says and changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A setting in the form."""

    row: Mapping[str, Any]  # its line of the schema: `name`, `type`, limits
    title: str  # what the page calls it
    hint: str  # what it does
    choices: tuple[tuple[str, str], ...]  # each value and its words
    value: Any  # the value now; `None` if none is set
    source: str  # where it comes from: `default`, `user` or `vault`


def fields_by_section(view: Mapping[str, Any]) -> Mapping[str, Sequence[Field]]:
    """The answer of `system.settings` as fields, by the page's sections.

    The sections are `models`, `context`, `clients` and `vault`; each keeps the schema's order.
    """
    words = WORDS["choices"]
    rows = [row for row in view["schema"] if row["name"] not in _OF_CONNECTIONS]
    found: dict[str, list[Field]] = {name: [] for name in ("models", "context", "clients", "vault")}
    for row in rows:
        name = row["name"]
        found[_section(name, row["group"])].append(
            Field(
                row=row,
                title=_title(name),
                hint=WORDS["hints"].get(name, row["description"]),
                choices=tuple((choice, words.get(choice, choice)) for choice in row["choices"]),
                value=view["values"][name],
                source=view["sources"][name],
            )
        )
    return found


def _section(name: str, group: str) -> str:
    if name == "mcp.write":
        return "clients"
    if name.endswith(".enabled") or group not in {"models", "context"}:
        return "vault"
    return group


def _title(name: str) -> str:
    known = WORDS["titles"].get(name)
    if known:
        return known
    if name.endswith(".enabled"):
        return f"Plugin {name.split('.')[1]}"
    return name.rsplit(".", 1)[-1].replace("_", " ").capitalize()
