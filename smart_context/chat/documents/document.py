"""A chat's document as a value: whole, its tail, and its text as written. Pure.

A `Version` never changes, and versions of one chat share equal entries. So the cost of a version
depends on what changed: an entry is encoded once, turned into a `Message` once, and then compared
by identity. Callers get copies.
"""

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from json import JSONDecoder
from typing import Any, cast

from smart_context.base.json_limits import too_much
from smart_context.base.values import JsonObject
from smart_context.chat.messages import Message

MAX_DEPTH = 200
"""The most levels of lists and objects in a document."""

MOST_MESSAGES = 100_000
"""The most messages of a document: five megabytes of empty ones would take a gigabyte."""

_MOST_KEYS = 10_000
"""The most keys of a document; a usual one has about ten, and those of other programs."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_encode_sorted = json.JSONEncoder(sort_keys=True, allow_nan=False).encode


class NotAChat(Exception):
    """The bytes are not a chat's document; the message says why."""


class NotJson(Exception):
    """A caller's values can't be written as JSON; the message says why."""


class MessageEntry:
    """One entry of `messages`, with its line of JSON and its `Message` once computed.

    Entries are equal when their values are; for shared entries the comparison is free.
    """

    __slots__ = ("_message", "is_flat", "value", "written")

    def __init__(self, value: Any, line: bytes | None = None) -> None:
        self.value = value
        self.is_flat = type(value) is dict
        if self.is_flat:
            for part in value.values():  # a loop: any() takes six times as long
                if type(part) is dict or type(part) is list:
                    self.is_flat = False
                    break
        if not self.is_flat:
            copy_json(value)  # checks the depth, so that every later copy is safe
        self.written = line
        self._message: tuple[int, Message] | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, MessageEntry) and bool(self.value == other.value)
        )

    __hash__ = None  # type: ignore[assignment]  # values can't be hashed

    def line(self) -> bytes:
        """The entry as JSON, without a line break."""
        if self.written is None:
            self.written = encode(self.value)
        return self.written

    def message(self, position: int) -> Message | None:
        """The entry as a message; `None` when it is not an object."""
        if type(self.value) is not dict:
            return None
        # The id of a message without one is derived from its position.
        if self._message is None or self._message[0] != position:
            self._message = position, Message.from_dict(self.value, position=position)
        return self._message[1]


@dataclass(frozen=True, eq=False)
class Version:
    """One state of a chat's document."""

    entries: tuple[MessageEntry, ...] = ()  # the entries of `messages`, in order
    # the document's other keys in their order; never handed out, never changed
    other: Mapping[str, Any] = field(default_factory=dict)
    place: int = 0  # the number of other keys before `messages`
    # the JSON of long other values, such as branches, or of values as they were written, with the
    # values; versions of a chat share it
    encoded: dict[str, tuple[Any, bytes]] = field(default_factory=dict, repr=False)

    def copy(self) -> JsonObject:
        """The document as a deep copy."""
        messages = [
            entry.value.copy() if entry.is_flat else copy_json(entry.value)
            for entry in self.entries
        ]
        document: JsonObject = {}
        for position, (key, value) in enumerate(self.other.items()):
            if position == self.place:
                document["messages"] = messages
            document[key] = copy_json(value)
        document.setdefault("messages", messages)
        return document

    def others(self, *keys: str) -> JsonObject:
        """A deep copy of the other keys, or only of the named ones."""
        named = keys or self.other
        return {key: copy_json(self.other[key]) for key in named if key in self.other}

    def encode(self) -> bytes:
        """The document as it is written to disk: compact, one message per line."""
        lines = [entry.written or entry.line() for entry in self.entries] or [b""]
        lines[0] = b'"messages":[\n' + lines[0]
        lines[-1] += b"\n]"
        pairs = [encode(key) + b":" + self.value_line(key) for key in self.other]
        pairs[self.place : self.place] = lines
        pairs[0] = b"{" + pairs[0]
        pairs[-1] += b"}\n"
        return b",\n".join(pairs)  # joined once: a long chat is copied once

    def value_line(self, key: str) -> bytes:
        """One of the other values as JSON."""
        value = self.other[key]
        known = self.encoded.get(key)
        if known is not None and known[0] is value:
            return known[1]
        line = encode(value)
        if type(value) is list:
            self.encoded[key] = value, line
        return line

    @cached_property
    def keys(self) -> tuple[Hashable, ...]:
        """The keys of the entries, in order: their ids, or their content if they have none.

        Two entries with one id get different keys, so none is ever lost.
        """
        return tuple(keys_of([entry.value for entry in self.entries]))

    @cached_property
    def by_key(self) -> Mapping[Hashable, MessageEntry]:
        """The entries by their keys."""
        return dict(zip(self.keys, self.entries, strict=True))

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The entries as messages; those that are not objects are skipped."""
        found = [entry.message(position) for position, entry in enumerate(self.entries)]
        return tuple([message for message in found if message is not None])

    @property
    def is_parsed(self) -> bool:
        """True if `messages` has been computed."""
        return "messages" in self.__dict__

    def says_the_same(self, other: "Version") -> bool:
        """True if both have equal entries in the same order, and equal other keys."""
        return self.other == other.other and self.entries == other.entries


def read_version(content: bytes, known: Version | None = None) -> Version:
    """The document in a file; entries equal to those of `known` are shared with it.

    `NaN` and infinities, which occur although JSON has none, read as null; a missing `messages`
    reads as an empty list.

    Raises:
        NotAChat: It is not UTF-8, not JSON or not an object, is nested too deeply, holds too much,
            or its `messages` is not a list.
    """
    document = _parsed(content)
    if not isinstance(document, dict):
        raise NotAChat(f"expected a JSON object, found {_kind(document)}")
    if fault := _fault_of(document):
        raise NotAChat(fault)
    try:
        entries = [MessageEntry(value) for value in document.get("messages", [])]
        return _version(document, entries, known)
    except RecursionError:
        raise NotAChat(f"nested deeper than {MAX_DEPTH} levels") from None


def settle(document: Mapping[str, Any], known: Version) -> Version:
    """A caller's document as a version; equal entries are shared with `known`.

    A document without `messages` keeps those of `known`.

    Raises:
        NotJson: `messages` is not a list, or too long, or something can't be written as JSON.
    """
    if fault := _fault_of(document):
        raise NotJson(fault)
    messages = document.get("messages")
    try:
        entries = known.entries if messages is None else _settled(messages, known)
        other = {**document, "messages": None} if "messages" in document else dict(document)
        return _version(_settled_keys(other, known.other), entries, known)
    except (TypeError, ValueError) as error:
        raise NotJson(f"the document can't be written as JSON: {error}") from error
    except RecursionError:
        raise NotJson(f"the document is nested deeper than {MAX_DEPTH} levels") from None


def _fault_of(document: Mapping[str, Any]) -> str:
    """The reason to refuse a document's form; empty if it is accepted."""
    messages = document.get("messages", [])
    if len(document) > _MOST_KEYS:
        return f"expected at most {_MOST_KEYS:,} keys, found {len(document):,}"
    if not isinstance(messages, list):
        return f"expected a list under 'messages', found {_kind(messages)}"
    if len(messages) > MOST_MESSAGES:
        return f"expected at most {MOST_MESSAGES:,} messages, found {len(messages):,}"
    return ""


def keys_of(values: Iterable[Any]) -> list[Hashable]:
    """The keys of entries within one list; see `Version.keys`."""
    seen: set[Hashable] = set()
    repeated: Counter[Hashable] = Counter()
    keys: list[Hashable] = []
    for value in values:
        key: Hashable = value.get("id") if type(value) is dict else None
        if not isinstance(key, str) or not key or key in seen:
            # a pair never equals an id, which is a plain text
            content = _encode_sorted(value)
            repeated[content] += 1
            key = (content, repeated[content])
        seen.add(key)
        keys.append(key)
    return keys


def encode(value: Any) -> bytes:
    """JSON in UTF-8, compact; text that UTF-8 can't hold is escaped.

    Raises:
        ValueError: A number is not finite, or the value contains itself.
        TypeError: Not a JSON value.
    """
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:
        return _encode_ascii(value).encode()


def copy_json(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A copy that shares no list and no object with the original.

    Raises:
        RecursionError: Nested deeper than `depth`.
    """
    if type(value) is not dict and type(value) is not list:
        return value
    if depth == 0:
        raise RecursionError
    if type(value) is dict:
        return {key: copy_json(part, depth - 1) for key, part in value.items()}
    return [copy_json(part, depth - 1) for part in value]


def set_value(document: JsonObject, key: str, value: Any) -> None:
    """Set a value of a document; an empty value removes the key."""
    if value:
        document[key] = value
    else:
        document.pop(key, None)


def _version(
    document: JsonObject, entries: Sequence[MessageEntry], known: Version | None
) -> Version:
    other = {key: value for key, value in document.items() if key != "messages"}
    before = known.other if known else {}
    for key, value in other.items():
        if value is not before.get(key):
            copy_json(value)  # checks the depth
    keys = list(document)
    place = keys.index("messages") if "messages" in document else len(keys)
    encoded = known.encoded if known else {}
    return Version(_shared(entries, known), other, place, encoded)


def _shared(entries: Sequence[MessageEntry], known: Version | None) -> tuple[MessageEntry, ...]:
    if known is None:
        return tuple(entries)
    shared = [old if old == new else new for old, new in zip(known.entries, entries, strict=False)]
    return (*shared, *entries[len(shared) :])


def _settled_keys(other: Mapping[str, Any], known: Mapping[str, Any]) -> JsonObject:
    """The other keys as the next reader will see them; long equal values are not encoded again."""
    shared = {
        key: known[key]
        for key, value in other.items()
        if type(value) is list and key in known and value == known[key]
    }
    fresh: JsonObject = json.loads(encode({**other, **dict.fromkeys(shared)}))
    return {**fresh, **shared}


def _settled(messages: Sequence[Any], known: Version) -> list[MessageEntry]:
    settled = [_known_entry(value, place, known) for place, value in enumerate(messages)]
    lines = [encode(messages[place]) for place, entry in enumerate(settled) if entry is None]
    # Parse what will be written: nothing is shared with the caller, and unusual keys and tuples
    # become what the next reader will see.
    values = json.loads(b"[" + b",".join(lines) + b"]")
    made = map(MessageEntry, values, lines)
    return [next(made) if entry is None else entry for entry in settled]


def _known_entry(value: Any, place: int, known: Version) -> MessageEntry | None:
    if place < len(known.entries) and known.entries[place].value == value:
        return known.entries[place]
    key = value.get("id") if isinstance(value, dict) else None
    entry = known.by_key.get(key) if isinstance(key, str) else None
    return entry if entry is not None and entry.value == value else None


def read_json(text: str) -> Any:
    """A JSON value; numbers that are not finite read as null.

    Raises:
        ValueError, RecursionError: It is not JSON, or nested too deeply.
    """
    return json.loads(text, parse_constant=lambda _: None, parse_float=_finite_or_none)


_READING = threading.Lock()
"""One thread reads at a time: reading JSON blocks the event loop, and two would block it twice."""


def _parsed(content: bytes) -> object:
    if excess := too_much(content):
        raise NotAChat(excess)
    try:
        text = content.decode("utf-8-sig")
        with _READING:
            return cast("object", read_json(text))
    except UnicodeDecodeError as error:
        raise NotAChat(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        found = "nothing in it" if not content.strip() else f"not JSON: {error}"
        raise NotAChat(found) from None
    except ValueError as error:  # a number of thousands of digits
        raise NotAChat(f"not JSON: {error}") from None
    except RecursionError:
        raise NotAChat(f"nested deeper than {MAX_DEPTH} levels") from None


def _finite_or_none(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "null"}.get(
        type(value), repr(value)[:40]
    )


Since = Callable[[Version], int]
"""Returns the position of the first message that a change needs."""


def whole(_version: Version) -> int:
    """All messages."""
    return 0


def no_messages(version: Version) -> int:
    """No messages: only other values of the document change."""
    return len(version.entries)


def since_message(message_id: str, *, and_before: int = 0) -> Since:
    """The messages from this one on, and `and_before` before it; all if it is missing."""

    def first(version: Version) -> int:
        for position in range(len(version.entries) - 1, -1, -1):
            value = version.entries[position].value
            if type(value) is not dict:
                return 0
            if value.get("id") == message_id:
                return max(position - and_before, 0)
        return 0

    return first


def since_unfinished(version: Version) -> int:
    """The messages from the first unfinished answer on; none if all are finished."""
    for position, entry in enumerate(version.entries):  # three times as fast as generators
        if type(entry.value) is not dict or "generating" in entry.value:
            return position
    return len(version.entries)


def part_since(version: Version, first: int) -> Version:
    """The document without the messages before position `first`."""
    return Version(version.entries[first:], version.other, version.place, version.encoded)


def followed_by(version: Version, first: int, rest: Version) -> Version:
    """The messages before `first`, then those of `rest`, with the other keys of `rest`."""
    entries = (*version.entries[:first], *rest.entries)
    joined = Version(entries, rest.other, rest.place, rest.encoded)
    if first and len(version.messages) == len(version.entries):
        added = [entry.message(position) for position, entry in enumerate(rest.entries, first)]
        if None not in added:  # the messages before are not parsed again
            joined.__dict__["messages"] = (*version.messages[:first], *added)
    return joined


_SPACE = re.compile(r"[ \t\n\r]*")


def raw_version(content: bytes) -> Version:
    """The document in a file; numbers, escapes and the order of keys stay as they are written.

    White space between the parts is not kept.

    Raises:
        NotAChat: As `read_version`.
    """
    version = read_version(content)
    text = content.decode("utf-8-sig")
    pairs = list(_members(text))
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):  # a key is there twice, and the last one counts
        return version
    written = dict(pairs)
    lines = [line for _, line in _items(written.get("messages", "[]"))]
    entries = [
        MessageEntry(entry.value, line.encode())
        for entry, line in zip(version.entries, lines, strict=True)
    ]
    encoded = {key: (value, written[key].encode()) for key, value in version.other.items()}
    return Version(tuple(entries), version.other, version.place, encoded)


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The keys of the object that a text holds, each with the text of its value."""
    place = _after_space(text, text.index("{") + 1)
    while text[place] != "}":
        name, place = _value(text, place)
        place = _after_space(text, place)  # of the colon
        begin = _after_space(text, place + 1)
        _, end = _value(text, begin)
        yield name, text[begin:end]
        place = _next(text, end)


def _items(text: str) -> Iterator[tuple[Any, str]]:
    """The items of the list that a text holds, each with its text."""
    place = _after_space(text, 1)
    while text[place] != "]":
        value, end = _value(text, place)
        yield value, text[place:end]
        place = _next(text, end)


def _next(text: str, place: int) -> int:
    """The place of the next part: after a comma, or the closing bracket."""
    place = _after_space(text, place)
    return _after_space(text, place + 1) if text[place] == "," else place


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _value(text: str, place: int) -> tuple[Any, int]:
    return _decoder.raw_decode(text, place)


_decoder = JSONDecoder()
