"""The units of the Responses API's `input`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smart_context.chat.messages import Part
from smart_context.gateway.requests.body import BodyRefused
from smart_context.gateway.requests.units import (
    ROLES,
    Unit,
    attachment,
    call_part,
    content_parts,
    name_of,
    unit_of,
)

_CALLS = frozenset({"function_call", "custom_tool_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


def response_units(items: Sequence[Any], *, first: int = 0) -> Iterator[Unit]:
    """The units of input items.

    A reasoning item, what follows it, and the calls of one answer are one unit: providers refuse
    reasoning without what it led to. A result is a unit of its own, as it is a chat message of
    its own; the selector keeps it with its call. An item of an unknown type stays, and what it
    is part of with it.

    Args:
        items: Those from `first` on.
        first: The place of the first one.

    Raises:
        BodyRefused: If one is not an object.
        BodyTooLong: If one has too many parts.
    """
    answer = _Answer()
    for index, item in enumerate(items, first):
        if not isinstance(item, Mapping):
            raise BodyRefused(f"input[{index}]: expected an object.", f"input[{index}]")
        if _is_of_answer(item) and answer.goes_on(item):
            answer.add(item)
            continue
        if answer.items:
            yield _answer_unit(answer.items, index - len(answer.items))
        answer = _Answer()
        if _is_of_answer(item):
            answer.add(item)
        else:
            yield _single(item, index)
    if answer.items:
        yield _answer_unit(answer.items, first + len(items) - len(answer.items))


def _kind(item: Mapping[str, Any]) -> str:
    return name_of(item.get("type")) or ("message" if "role" in item else "")


def _is_of_answer(item: Mapping[str, Any]) -> bool:
    """True if an item is, or may be, part of an answer."""
    kind = _kind(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in _RESULTS


class _Answer:
    """The items of one answer so far."""

    def __init__(self) -> None:
        self.items: list[Mapping[str, Any]] = []
        self._kinds: set[str] = set()

    def add(self, item: Mapping[str, Any]) -> None:
        self.items.append(item)
        self._kinds.add(_kind(item))

    def goes_on(self, item: Mapping[str, Any]) -> bool:
        """True if an item belongs to the answer before it."""
        if not self.items:
            return True
        kind = _kind(item)
        if kind == "reasoning":
            return _kind(self.items[-1]) == "reasoning"
        if kind == "message":
            is_led_to = "reasoning" in self._kinds or not _CALLS & self._kinds
            return "message" not in self._kinds and is_led_to
        return True


def _answer_unit(answer: Sequence[Mapping[str, Any]], first: int) -> Unit:
    parts = [part for item in answer for part in _parts(item)]
    known = _CALLS | {"message", "reasoning"}
    return unit_of(
        "assistant",
        _plain(parts),
        first=first,
        size=len(answer),
        stays=any(_kind(item) not in known for item in answer),
    )


def _parts(item: Mapping[str, Any]) -> Iterator[Part]:
    kind = _kind(item)
    if kind == "message":
        yield from content_parts(item.get("content"))
    elif kind in _CALLS:
        given = item.get("arguments", item.get("input", ""))
        yield call_part(str(item.get("call_id") or ""), str(item.get("name") or ""), given)
    elif kind == "reasoning":
        yield from _thoughts(item)
    else:
        yield attachment(item)


def _thoughts(item: Mapping[str, Any]) -> Iterator[Part]:
    summary = item.get("summary")
    for part in summary if isinstance(summary, list) else ():
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield {"type": "reasoning", "text": part["text"]}


def _single(item: Mapping[str, Any], index: int) -> Unit:
    if _kind(item) in _RESULTS:
        output = item.get("output")
        return unit_of(
            "tool",
            output if isinstance(output, str) else tuple(content_parts(output)),
            first=index,
            result_of=str(item.get("call_id") or ""),
        )
    role = ROLES.get(name_of(item.get("role")), "user")
    content = item.get("content")
    return unit_of(
        role,
        content if isinstance(content, str) else _plain([*content_parts(content)]),
        first=index,
    )


def _plain(parts: Sequence[Part]) -> str | tuple[Part, ...]:
    """One text as a string, as a chat stores it."""
    if len(parts) == 1 and parts[0].get("type") == "text":
        return str(parts[0]["text"])
    return tuple(parts)
