"""The settings in the page's words: a title for each, and plain words for its choices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomli

from smart_context.base.resources import text_beside

WORDS: Mapping[str, Mapping[str, Any]] = tomli.loads(text_beside(__file__, "settings_words.toml"))
"""The words for settings: their `titles`, `hints` and `choices`, and those of a `turn`."""

STRICTNESS: Mapping[str, float] = WORDS["strictness"]
"""The thresholds that a page offers, by their words."""

TITLES: Mapping[str, str] = WORDS["titles"]
"""The page's title of each setting, for finding a setting by its name."""

_NOT_HERE = frozenset(
    (
        *("llm.base_url", "llm.api_key_env", "llm.categories.chat"),  # the list of connections
        "plugins.smart_context.relevance",  # for those who write the file
    )
)
_THRESHOLD = "plugins.smart_context.similarity_threshold"
_OFTEN = ("chat.instructions", _THRESHOLD, "plugins.smart_context.file_tools")
"""The settings that people change most, besides model and look: the page shows these first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A setting in the form."""

    row: Mapping[str, Any]  # its line of the schema: `name`, `type`, limits
    title: str  # its title on the page
    hint: str  # its effect
    choices: tuple[tuple[Any, str], ...]  # each value and its words
    value: Any  # the current value; `None` if none is set
    source: str  # its origin: `default`, `user` or `vault`


def fields_by_section(view: Mapping[str, Any]) -> Mapping[str, Sequence[Field]]:
    """The answer of `system.settings` as fields, by the page's sections.

    The sections are `often`, `models`, `context`, `clients` and `vault`; each keeps the schema's
    order.
    """
    rows = [row for row in view["schema"] if row["name"] not in _NOT_HERE]
    sections = ("often", "models", "context", "clients", "vault")
    found: dict[str, list[Field]] = {name: [] for name in sections}
    for row in rows:
        name = row["name"]
        found[_section(name, row["group"])].append(
            Field(
                row=row,
                title=_title(name),
                hint=WORDS["hints"].get(name, row["description"]),
                choices=_choices(row, view["values"][name]),
                value=view["values"][name],
                source=view["sources"][name],
            )
        )
    return found


def setting_id(name: str) -> str:
    """The id of a setting's field, which the address of the page may name."""
    return "s-" + name.replace(".", "-")


def _choices(row: Mapping[str, Any], value: Any) -> tuple[tuple[Any, str], ...]:
    """The values that a setting may have, each with its words; none if there are too many."""
    if row["name"] != _THRESHOLD:
        words = WORDS["choices"]
        return tuple((choice, words.get(choice, choice)) for choice in row["choices"])
    known = tuple((threshold, words) for words, threshold in STRICTNESS.items())
    return known if value in STRICTNESS.values() else (*known, (value, "As in the file"))


def _section(name: str, group: str) -> str:
    if name in _OFTEN:
        return "often"
    if name == "mcp.write":
        return "clients"
    if name.endswith(".enabled") or group not in {"models", "context"}:
        return "vault"
    return group


def _title(name: str) -> str:
    if name in TITLES:
        return TITLES[name]
    if name.endswith(".enabled"):
        return f"Plugin {name.split('.')[1]}"
    return name.rsplit(".", 1)[-1].replace("_", " ").capitalize()
