"""The units of a client's list: each is a message, sent or left out as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import STAYS, Message, Part, Role
from smart_context.gateway.requests.body import BodyRefused, BodyTooLong
from smart_context.llm.thoughts import split_thoughts

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""The stored role for each of a client's roles; an unknown one becomes the user's."""

MAX_PARTS = 2_048
"""The maximum number of parts in a message."""

_DIGEST_BYTES = 16
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ListUnit:
    """Items of a client's list that belong together."""

    first: int  # the place of the first item in the list
    size: int = 1  # the number of its items
    role: Role  # the role of the speaker
    content: str | tuple[Part, ...]  # the content that a chat stores
    text: str  # the text, with single spaces for white space
    calls: tuple[str, ...] = ()  # the ids of its tool calls
    result_of: str = ""  # the id of the call that it answers; empty for none
    stays: bool = False  # True if it is always sent
    key: bytes  # equal for units of equal content

    def stored(self, message_id: str, now: str) -> JsonObject:
        """The message that a chat stores for it."""
        content: Any = self.content if isinstance(self.content, str) else [*map(dict, self.content)]
        message: JsonObject = {"id": message_id, "role": self.role, "content": content}
        message["created_at"] = now
        if self.result_of:
            message["tool_call_id"] = self.result_of
        if self.stays:
            message[STAYS] = True
        return message


def unit_of(
    role: Role,
    content: str | tuple[Part, ...],
    *,
    first: int,
    size: int = 1,
    result_of: str = "",
    stays: bool = False,
) -> ListUnit:
    """A unit with this content."""
    if role == "assistant":
        content = _without_thoughts(content)
    text, calls, others = _said(content)
    return ListUnit(
        first=first,
        size=size,
        role=role,
        content=content,
        text=text,
        calls=calls,
        result_of=result_of,
        stays=stays or role == "system",
        key=_key(role, text, calls, others, result_of),
    )


def key_of(message: Message) -> bytes:
    """The key of the unit that a stored message came from."""
    content = message.content
    if message.role == "assistant":  # it may be stored with marks around its thoughts
        content = _without_thoughts(content)
    text, calls, others = _said(content)
    result_of = message.extra.get("tool_call_id")
    return _key(message.role, text, calls, others, result_of if type(result_of) is str else "")


def spoken_text(message: Message) -> str:
    """The text of a stored message, in the form that units have."""
    return _said(message.content)[0]


def chat_units(messages: Sequence[Any], *, first: int = 0) -> Iterator[ListUnit]:
    """The units of `messages` of a chat completion: each message is one.

    Args:
        messages: Those from `first` on.
        first: The place of the first one.

    Raises:
        BodyRefused: If one is not an object.
        BodyTooLong: If one has too many parts.
    """
    for index, message in enumerate(messages, first):
        if not isinstance(message, Mapping):
            raise BodyRefused(f"messages[{index}]: expected an object.", f"messages[{index}]")
        named = name_of(message.get("role"))
        role = ROLES.get(named, "user")
        result_of = message.get("tool_call_id")
        yield unit_of(
            role,
            _chat_content(message),
            first=index,
            result_of=result_of if role == "tool" and type(result_of) is str else "",
            stays=named not in ROLES,
        )


def _without_thoughts(content: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    """An answer's content, with thoughts that are written into its text as a part of their own."""
    if not isinstance(content, str):
        return content
    thoughts, said = split_thoughts(content)
    if said == content:
        return content
    kept: list[Part] = [{"type": "reasoning", "text": thoughts}] if thoughts else []
    return (*kept, {"type": "text", "text": said})


def name_of(value: object) -> str:
    """A role or a type; empty for a value that is not a text, or too long for a known name."""
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else ""


def _chat_content(message: Mapping[str, Any]) -> str | tuple[Part, ...]:
    content = message.get("content")
    calls = tuple(_chat_calls(message))
    refusal = message.get("refusal")
    if isinstance(content, str) and not calls and not refusal:
        return content
    parts = [*content_parts(content)]
    if isinstance(refusal, str) and refusal:
        parts.append({"type": "text", "text": refusal})
    return (*parts, *calls)


def content_parts(content: Any) -> Iterator[Part]:
    """The content of a client's message as parts of a stored one."""
    if isinstance(content, str):
        if content:
            yield {"type": "text", "text": content}
        return
    parts = content if isinstance(content, list) else ()
    if len(parts) > MAX_PARTS:
        raise BodyTooLong(f"content: more than {MAX_PARTS:,} parts in a message; send fewer.")
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            yield {"type": "text", "text": text}
        elif isinstance(part, Mapping) and isinstance(part.get("refusal"), str):
            yield {"type": "text", "text": part["refusal"]}
        elif part is not None:
            yield attachment(part)


def attachment(part: Any) -> Part:
    """The stored form of an image, a file or something unknown: its name and a digest."""
    kind = name_of(part.get("type")) or "part" if isinstance(part, Mapping) else type(part).__name__
    name = kind.removeprefix("input_").removesuffix("_url").replace("_", " ")
    return {"type": "info", "text": f"[{name}, kept by the client]", "digest": _digest_of(part)}


def call_part(call_id: str, name: str, arguments: Any) -> Part:
    """A tool call as it is stored; its result is a message of its own."""
    return {
        "type": "tool_call",
        "state": "call",
        "tool_call_id": call_id,
        "tool_name": name,
        "args": arguments,
    }


def _chat_calls(message: Mapping[str, Any]) -> Iterator[Part]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            continue
        made = call.get("function") or call.get("custom") or {}
        named = made if isinstance(made, Mapping) else {}
        arguments = named.get("arguments", named.get("input", ""))
        yield call_part(str(call.get("id") or ""), str(named.get("name") or ""), arguments)
    if isinstance(made := message.get("function_call"), Mapping):
        yield call_part("", str(made.get("name") or ""), made.get("arguments", ""))


def _said(content: str | tuple[Part, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The text, the calls, and the digests of everything else."""
    if isinstance(content, str):
        return " ".join(content.split()), (), ()
    texts: list[str] = []
    calls: list[str] = []
    others: list[str] = []
    for part in content:
        kind = part.get("type")
        if kind == "text":
            texts.append(str(part.get("text") or ""))
        elif kind == "tool_call":
            calls.append(str(part.get("tool_call_id") or ""))
        elif digest := part.get("digest"):
            others.append(str(digest))
    return " ".join("\n".join(texts).split()), tuple(calls), tuple(others)


def _key(
    role: str, text: str, calls: Sequence[str], others: Sequence[str], result_of: str
) -> bytes:
    said = "\0".join((role, text, *calls, "", *others, result_of))
    return blake2b(said.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _digest_of(part: Any) -> str:
    return blake2b(repr(part).encode(), digest_size=_DIGEST_BYTES).hexdigest()


_CALLS = frozenset({"function_call", "custom_tool_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


def response_units(items: Sequence[Any], *, first: int = 0) -> Iterator[ListUnit]:
    """The units of input items.

    A reasoning item, the items after it, and the calls of one answer are one unit, since providers
    refuse reasoning without the items that it led to. A result is a unit of its own, like its chat
    message; the selector keeps it with its call. An item of an unknown type is always sent, with
    the unit that it is part of.

    Args:
        items: Those from `first` on.
        first: The place of the first one.

    Raises:
        BodyRefused: If one is not an object.
        BodyTooLong: If one has too many parts.
    """
    answer = _AnswerItems()
    for index, item in enumerate(items, first):
        if not isinstance(item, Mapping):
            raise BodyRefused(f"input[{index}]: expected an object.", f"input[{index}]")
        if _is_of_answer(item) and answer.goes_on(item):
            answer.add(item)
            continue
        if answer.items:
            yield _answer_unit(answer.items, index - len(answer.items))
        answer = _AnswerItems()
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


class _AnswerItems:
    """The items of one answer so far."""

    def __init__(self) -> None:
        self.items: list[Mapping[str, Any]] = []
        self._kinds: set[str] = set()

    def add(self, item: Mapping[str, Any]) -> None:
        self.items.append(item)
        self._kinds.add(_kind(item))

    def goes_on(self, item: Mapping[str, Any]) -> bool:
        """True if an item continues this answer."""
        if not self.items:
            return True
        kind = _kind(item)
        if kind == "reasoning":
            return _kind(self.items[-1]) == "reasoning"
        if kind == "message":
            is_led_to = "reasoning" in self._kinds or not _CALLS & self._kinds
            return "message" not in self._kinds and is_led_to
        return True


def _answer_unit(answer: Sequence[Mapping[str, Any]], first: int) -> ListUnit:
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


def _single(item: Mapping[str, Any], index: int) -> ListUnit:
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
    """The parts as a chat stores them: a single text as a string."""
    if len(parts) == 1 and parts[0].get("type") == "text":
        return str(parts[0]["text"])
    return tuple(parts)
