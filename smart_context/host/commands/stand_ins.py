"""Another's chat answers as one that does not exist: a command gets an id in its place.

A command for a chat that is not the caller's runs with an id that nobody has and that no chat can
get. So whatever it answers is what it answers for an unknown chat, and nothing it does in memory or
in storage reaches the other's. In what it answers the id is put back.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from smart_context.base.errors import SmartContextError


def with_stand_ins(
    given: Mapping[str, Any], names: Iterable[str], stand_ins: Mapping[str, str]
) -> dict[str, Any]:
    """The parameters with stand-ins for ids.

    Args:
        given: The checked parameters.
        names: Those that name something owned.
        stand_ins: What to use for each id.
    """
    return {**given, **{name: _replaced(given[name], stand_ins) for name in names if name in given}}


def put_back(result: Any, stand_ins: Mapping[str, str]) -> Any:
    """A result with the ids that were asked for."""
    return _replaced(result, {stand_in: chat_id for chat_id, stand_in in stand_ins.items()})


def put_back_in_error(error: SmartContextError, stand_ins: Mapping[str, str]) -> None:
    """Let an error name the ids that were asked for."""
    error.args = tuple(put_back(list(error.args), stand_ins))


def _replaced(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in ids.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, Mapping):
        return {_replaced(key, ids): _replaced(each, ids) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(each, ids) for each in value]
    return value
