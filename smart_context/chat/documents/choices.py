"""A person's choices for a chat that are used outside of the filter (docs/filter.md)."""

from collections.abc import Collection, Mapping
from typing import Any

from smart_context.base.values import JsonObject, PersonId, person_tag

CHOICES = "filter"
"""The name of the document with the choices of the installation's owner."""

HIDDEN = "hidden"
"""The key of the messages that are never sent."""

ACTIVE_TOPICS = "active_topics"
"""The key of the topics that are picked."""

FILE_TOOLS = "file_tools"
"""The key of the switch that lets the model read files."""

PINNED = "pinned"
"""The key of the messages that are always sent."""


_LISTS = (HIDDEN, PINNED)


def choices_name(person: PersonId) -> str:
    """The name of the document with a person's choices."""
    tag = person_tag(person)
    return f"{CHOICES}-{tag}" if tag else CHOICES


def unreadable_in(choices: Mapping[str, Any]) -> str:
    """The keys with unreadable values among those that restrict what is sent; empty if none."""
    lists = [key for key in (ACTIVE_TOPICS, HIDDEN) if not _is_list_of_texts(choices.get(key, []))]
    is_switch = isinstance(choices.get(FILE_TOOLS, True), bool)
    return ", ".join([*lists, *([] if is_switch else [FILE_TOOLS])])


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def kept_out_and_in(choices: Mapping[str, Any]) -> JsonObject:
    """The messages that are never and always sent, for an export; without keys that are empty."""
    listed = {key: choices.get(key) for key in _LISTS}
    return {key: ids for key, ids in listed.items() if ids and _is_list_of_texts(ids)}


def with_chosen(
    choices: Mapping[str, Any], *, hidden: Collection[str], pinned: Collection[str] = ()
) -> JsonObject:
    """The choices with these messages hidden and pinned, too; a message in both is hidden."""
    before = {key: value if isinstance(value := choices.get(key), list) else [] for key in _LISTS}
    pins = [each for each in (*before[PINNED], *pinned) if each not in hidden]
    return {
        "version": 1,
        **choices,
        HIDDEN: list(dict.fromkeys((*before[HIDDEN], *hidden))),
        **({PINNED: list(dict.fromkeys(pins))} if pins or PINNED in choices else {}),
    }
