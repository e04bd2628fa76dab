"""Builds the body to send: the client's, without the units left out. Pure."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from smart_context.chat.messages import Message
from smart_context.gateway.requests.body import Body, BodySpan, read_body, read_value
from smart_context.gateway.requests.units import ListUnit
from smart_context.host.request.speaking_order import SpeakingOrder, in_order

ApiKind = Literal["chat", "responses"]

Item = int | str
"""The place of an item that is sent unchanged, or the text of a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """The body to send."""

    text: str
    count: int  # the number of messages or items in it
    values: Callable[[], Sequence[Any]]  # gives them; unchanged ones are not parsed again
    fields: dict[str, Any]  # all other fields of the body
    list_name: str  # the field of the messages; empty if they are a text among `fields`


def kept_units(units: Sequence[ListUnit], ids: Sequence[str], kept: set[str]) -> list[int]:
    """The places of the units to send.

    These are the chosen ones, and those that are always sent: system messages, unknown ones, the
    last user message with all after it, and the other half of calls and results.

    Args:
        ids: The ids of the units' messages in the chat.
        kept: The messages that were chosen.
    """
    question = last_question(units)
    if kept.issuperset(ids[:question]):
        return [*range(len(units))]
    chosen = {
        index
        for index, unit in enumerate(units)
        if index >= question or unit.stays or ids[index] in kept
    }
    if len(chosen) < len(units):
        _add_other_halves(units, chosen)
    return sorted(chosen)


def _add_other_halves(units: Sequence[ListUnit], chosen: set[int]) -> None:
    """Choose each call with its result, and each result with its call."""
    sharing: dict[str, list[int]] = defaultdict(list)
    for index, unit in enumerate(units):
        if unit.calls or unit.result_of:
            for call in _calls_of(unit):
                sharing[call].append(index)
    waiting = [*chosen] if sharing else []
    while waiting:
        for call in _calls_of(units[waiting.pop()]):
            more = [index for index in sharing.pop(call, ()) if index not in chosen]
            chosen.update(more)
            waiting += more


def _calls_of(unit: ListUnit) -> Iterator[str]:
    """The ids of the calls that a unit makes or answers."""
    return filter(None, (*unit.calls, unit.result_of))


def last_question(units: Sequence[ListUnit]) -> int:
    """The place of the last user message; of the last unit if there is none."""
    places = (index for index in reversed(range(len(units))) if units[index].role == "user")
    return next(places, max(len(units) - 1, 0))


def outgoing(
    kind: ApiKind,
    body: Body,
    units: Sequence[ListUnit],
    kept: Sequence[int],
    *,
    brought_back: Mapping[int, Sequence[Message]],
    system: str = "",
) -> Outgoing:
    """The body to send.

    Args:
        kept: The places of the units to send.
        brought_back: Messages that the client no longer sends, by the unit that they precede.
        system: The text of the role and the contexts; may be empty.
    """
    name = "messages" if kind == "chat" else "input"
    if len(kept) == len(units) and not (brought_back or system):
        size = sum(unit.size for unit in units)
        return _outgoing(body, body.text, size, _every(body), name, {})
    every = _every(body)
    items = [*_items(kind, units, every, kept, brought_back)]
    changes: dict[str, str] = {}
    if system and kind == "chat":
        items = with_system([*_texts(body, items[:1]), *items[1:]], system)
    elif system:
        changes["instructions"] = _instructions(body, system)
    if items != every:
        changes[name] = f"[{','.join(_texts(body, items))}]"
    return _outgoing(body, body.spliced(changes), len(items), items, name, changes)


def in_speaking_order(sent: Outgoing, order: SpeakingOrder) -> Outgoing:
    """The body with its messages in the order that an endpoint needs; unchanged if they are."""
    values = list(sent.values()) if order else []
    if not all(isinstance(value, dict) for value in values):
        return sent  # left to the provider to refuse
    told = None if sent.list_name == "messages" else sent.fields.get("instructions")
    before = [{"role": "system", "content": told}] if isinstance(told, str) and told else []
    joined = list(in_order([*before, *values], order))
    if joined == [*before, *values]:
        return sent
    changes: dict[str, Any] = {}
    if before:  # Responses API: the first text becomes the field again
        is_left = joined[0].get("role") == "system" and isinstance(joined[0]["content"], str)
        changes["instructions"] = joined.pop(0)["content"] if is_left else None
    name = sent.list_name or "input"
    texts = {field: _json(value) for field, value in {**changes, name: joined}.items()}
    return replace(
        sent,
        text=read_body(sent.text.encode()).spliced(texts),
        count=len(joined),
        values=lambda: joined,
        fields={field: v for field, v in {**sent.fields, **changes}.items() if field != name},
        list_name=name,
    )


def _outgoing(
    body: Body,
    text: str,
    count: int,
    items: Sequence[Item],
    name: str,
    changes: Mapping[str, str],
) -> Outgoing:
    has_list = body.listed is not None or name in changes
    fields = {field: span.value for field, span in body.fields.items()}
    if "instructions" in changes:
        fields["instructions"] = json.loads(changes["instructions"])
    if has_list:
        fields.pop(name, None)
    return Outgoing(
        text=text,
        count=count,
        values=lambda: _values(body, items),
        fields=fields,
        list_name=name if has_list else "",
    )


def _every(body: Body) -> list[Item]:
    """All messages or items of the client."""
    if body.listed is not None:
        return [*range(len(body.listed.items))]
    if isinstance(body.get("input"), str):
        span = body.fields["input"]
        return [f'{{"role":"user","content":{body.text[span.start : span.end]}}}']
    return []


def _texts(body: Body, items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        yield body.item_text(item) if isinstance(item, int) else item


def _values(body: Body, items: Sequence[Item]) -> list[Any]:
    came = body.listed.items if body.listed is not None else ()
    return [came[item].value if isinstance(item, int) else read_value(item) for item in items]


def _items(
    kind: ApiKind,
    units: Sequence[ListUnit],
    every: Sequence[Item],
    kept: Sequence[int],
    brought_back: Mapping[int, Sequence[Message]],
) -> list[Item]:
    goes = frozenset(kept)
    items: list[Item] = []
    for index, unit in enumerate(units):
        for message in brought_back.get(index, ()):
            items += as_items(kind, message)
        if index in goes:
            items += every[unit.first : unit.first + unit.size]
    return items


def as_items(kind: ApiKind, message: Message) -> list[str]:
    """A stored message as its client would send it, with calls and results."""
    calls = [part for part in message.parts if part.get("type") == "tool_call"]
    result_of = message.extra.get("tool_call_id")
    if kind == "chat":
        entry: dict[str, Any] = {"role": message.role, "content": message.text}
        if result_of:
            entry["tool_call_id"] = result_of
        if calls:
            entry |= {"content": message.text or None, "tool_calls": [*map(_chat_call, calls)]}
        return [_json(entry)]
    if message.role == "tool":
        output = {"type": "function_call_output", "call_id": result_of, "output": message.text}
        return [_json(output)]
    said = [_json({"role": message.role, "content": message.text})] if message.text else []
    return [*said, *(_json(_response_call(call)) for call in calls)]


def _chat_call(part: Mapping[str, Any]) -> dict[str, Any]:
    made = {"name": part.get("tool_name") or "unknown", "arguments": _arguments(part)}
    return {"id": part.get("tool_call_id"), "type": "function", "function": made}


def _response_call(part: Mapping[str, Any]) -> dict[str, Any]:
    made = {"name": part.get("tool_name") or "unknown", "arguments": _arguments(part)}
    return {"type": "function_call", "call_id": part.get("tool_call_id"), **made}


def _arguments(part: Mapping[str, Any]) -> str:
    given = part.get("args")
    return given if isinstance(given, str) else _json({} if given is None else given)


def with_system(items: Sequence[Item], system: str) -> list[Item]:
    """The messages with a text added to the leading system message, or as a new first message.

    The first of `items` must be given as its text.

    Many chat templates take only one system message, at the beginning.
    """
    if items and isinstance(items[0], str):
        first = read_body(items[0].encode(), once={"role", "content"})
        content = first.fields.get("content")
        if first.get("role") in ("system", "developer") and content is not None:
            if isinstance(content.value, str):
                longer = _json(f"{content.value}\n\n{system}" if content.value else system)
                return [first.spliced({"content": longer}), *items[1:]]
            if isinstance(content.value, list) and content.value:
                return [first.spliced({"content": _with_part(first, content, system)}), *items[1:]]
    return [_json({"role": "system", "content": system}), *items]


def _with_part(item: Body, content: BodySpan, system: str) -> str:
    parts = item.text[content.start : content.end - 1]
    return f"{parts},{_json({'type': 'text', 'text': system})}]"


def _instructions(body: Body, system: str) -> str:
    given = body.get("instructions")
    return _json(f"{given}\n\n{system}" if isinstance(given, str) and given else system)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
