"""Reads a request's body as text, with the place of each field and list item.

Only changed parts are rewritten. Everything else is passed on as it was sent, including `1e0`,
long numbers, escapes and white space.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from math import isfinite
from typing import Any, NoReturn

import numpy as np

MAX_BODY_BYTES = 64 << 20
READ_FIELDS = frozenset(
    (
        *("messages", "input", "instructions", "model", "stream", "stream_options", "tools"),
        *("previous_response_id", "conversation", "prompt_cache_key", "metadata"),
        *("encoding_format", "response_format", "text", "tool_choice"),
    )
)
"""The fields that are read or changed here; each may be there only once, to be unambiguous."""

MAX_ITEMS = 20_000
MAX_VALUES = 200_000
"""The maximum JSON values of a request, as `MAX_ITEMS` of its list; reading them takes a second."""

MAX_ANSWER_VALUES = 500_000
"""The maximum number of JSON values in an answer, which may have probabilities of its tokens."""

_MARKS = b"[{,"
_QUOTES_FOR_A_VALUE = 4
_SPACE = re.compile(r"[ \t\n\r]*")
_LONGEST_INTEGER = 18


class BodyRefused(ValueError):
    """A body that can't be read.

    Attributes:
        param: The field at fault; empty for the whole body.
    """

    def __init__(self, message: str, param: str = "") -> None:
        super().__init__(message)
        self.param = param


class BodyTooLong(BodyRefused):
    """A body with more items, values or parts than are read."""


@dataclass(frozen=True, slots=True)
class BodySpan:
    """A value and the place of its text in the body or, for an item, in its list."""

    value: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemList:
    """A list in a body, item by item."""

    text: str  # from the bracket to the end of the last item
    items: tuple[BodySpan, ...]  # with places counted from the bracket


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A JSON object as it was sent."""

    raw: bytes  # the bytes of the body
    text: str  # the whole body as text
    # the top-level fields; the value of the requested list is `None`
    fields: Mapping[str, BodySpan]
    listed: ItemList | None  # the requested list; `None` if it is missing or is not a list
    known: int = 0  # the number of its items already known from a list that it continues

    def get(self, name: str) -> Any:
        """A field's value; `None` if it is missing."""
        found = self.fields.get(name)
        return None if found is None else found.value

    def item_text(self, index: int) -> str:
        """The text of a list item, as it was sent.

        Raises:
            LookupError: If there is no such item.
        """
        if self.listed is None:
            raise LookupError(index)
        item = self.listed.items[index]
        return self.listed.text[item.start : item.end]

    def encoded(self, text: str) -> bytes:
        """The bytes of a text that replaces this body; the body's own if it is the same."""
        return self.raw if text is self.text else text.encode()

    def spliced(self, changes: Mapping[str, str]) -> str:
        """The body with new texts for some fields; missing fields are put first."""
        pieces: list[str] = []
        position = 0
        for name, span in sorted(self.fields.items(), key=lambda pair: pair[1].start):
            if name in changes:
                pieces += (self.text[position : span.start], changes[name])
                position = span.end
        pieces.append(self.text[position:])
        text = "".join(pieces)
        added = [f'"{name}":{changes[name]}' for name in changes if name not in self.fields]
        if not added:
            return text
        brace = text.index("{") + 1
        comma = "," if self.fields else ""
        return f"{text[:brace]}{','.join(added)}{comma}{text[brace:]}"


def read_body(
    raw: bytes,
    list_name: str = "",
    known: Sequence[ItemList] = (),
    *,
    once: Collection[str] = READ_FIELDS,
) -> Body:
    """Read a body.

    Args:
        raw: The bytes that were sent.
        list_name: The field that is read item by item.
        known: Lists that were read before; a list that continues one is not read again.
        once: The fields that may be there only once; of other fields the last one counts.

    Raises:
        BodyRefused: If it is not one JSON object in UTF-8, is nested too deep, or has one of
            `once` twice.
        BodyTooLong: If its list has too many items, or it has too many values.
    """
    try:
        text = raw.decode("utf-8")
        if has_more_values(raw, MAX_VALUES):
            raise BodyTooLong(
                f"The body holds more than {MAX_VALUES:,} JSON values, or is nested too deep."
                " Send fewer."
            )
        return _BodyReader(raw, text, list_name, known, once).body()
    except UnicodeDecodeError as error:
        raise BodyRefused(f"The body is not UTF-8 at byte {error.start}.") from None
    except RecursionError:
        raise BodyRefused("The body is nested too deep.") from None
    except JSONDecodeError as error:
        raise BodyRefused(f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except StopIteration as error:
        raise BodyRefused(
            f"The body is not JSON: a value is expected at character {error.value}."
        ) from None


@dataclass(slots=True)
class _BodyReader:
    raw: bytes
    text: str
    list_name: str
    known: Sequence[ItemList]
    once: Collection[str]
    listed: ItemList | None = field(default=None, init=False)
    reused: int = field(default=0, init=False)

    def body(self) -> Body:
        position = self._skip(1 if self.text.startswith("\ufeff") else 0)
        if self.text[position : position + 1] != "{":
            self._refuse("expected an object", position)
        fields: dict[str, BodySpan] = {}
        position = self._skip(position + 1)
        if self.text[position : position + 1] != "}":
            position = self._fields(position, fields)
        end = self._skip(position + 1)
        if end != len(self.text):
            self._refuse("nothing may follow the object", end)
        return Body(
            raw=self.raw, text=self.text, fields=fields, listed=self.listed, known=self.reused
        )

    def _fields(self, position: int, fields: dict[str, BodySpan]) -> int:
        """Read the fields up to the closing brace; returns its place."""
        while True:
            if self.text[position : position + 1] != '"':
                self._refuse("expected a field's name", position)
            name, position = _scan(self.text, position)
            position = self._skip(position)
            if self.text[position : position + 1] != ":":
                self._refuse("expected ':'", position)
            start = self._skip(position + 1)
            if name in fields and name in self.once:
                raise BodyRefused(f"The field {name!r} is there twice.", name)
            if name == self.list_name and self.text[start : start + 1] == "[":
                value, end = None, self._list(start)
            else:
                value, end = _scan(self.text, start)
            fields[name] = BodySpan(value, start, end)
            position = self._skip(end)
            if self.text[position : position + 1] == "}":
                return position
            if self.text[position : position + 1] != ",":
                self._refuse("expected ',' or '}'", position)
            position = self._skip(position + 1)

    def _list(self, start: int) -> int:
        """Read the list item by item; returns the place after it."""
        text = self.text
        items: list[BodySpan] = []
        position = self._skip(start + 1)
        if known := self._beginning(start):
            items.extend(known.items)
            self.reused = len(items)
            position = self._after_item(start + len(known.text))
        while text[position : position + 1] != "]":
            if len(items) == MAX_ITEMS:
                raise BodyTooLong(
                    f"{self.list_name}: more than {MAX_ITEMS:,} items; start a new chat, or send"
                    " fewer.",
                    self.list_name,
                )
            value, end = _scan(text, position)
            items.append(BodySpan(value, position - start, end - start))
            position = self._after_item(end)
        last = items[-1].end if items else 1
        self.listed = ItemList(text=text[start : start + last], items=tuple(items))
        return position + 1

    def _after_item(self, position: int) -> int:
        """The place of the next item, or of the bracket that ends the list."""
        position = self._skip(position)
        if self.text[position : position + 1] == "]":
            return position
        if self.text[position : position + 1] != ",":
            self._refuse("expected ',' or ']'", position)
        position = self._skip(position + 1)
        if self.text[position : position + 1] == "]":
            self._refuse("expected a value", position)
        return position

    def _beginning(self, start: int) -> ItemList | None:
        """The longest known list that this one continues."""
        fitting = [
            known
            for known in self.known
            if known.items
            and self.text.startswith(known.text, start)
            and self.text[start + len(known.text) : start + len(known.text) + 1] in _ENDS
        ]
        return max(fitting, key=lambda known: len(known.items), default=None)

    def _skip(self, position: int) -> int:
        space = _SPACE.match(self.text, position)
        return space.end() if space else position

    def _refuse(self, message: str, position: int) -> NoReturn:
        raise BodyRefused(f"The body is not JSON: {message} at character {position}.")


_ENDS = frozenset(", \t\r\n]")
"""The characters that may follow an item; any other could continue a number."""


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= _LONGEST_INTEGER else text


def _fraction(text: str) -> float | str:
    value = float(text)
    return value if isfinite(value) else text


def _refuse_constant(name: str) -> NoReturn:
    raise BodyRefused(f"The body is not JSON: {name} is no value.")


def has_more_values(written: bytes, most: int) -> bool:
    """True if a JSON text holds more than `most` values; they are counted, not parsed."""
    if _marks_in(written) <= most:
        return False
    bare = written.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > _QUOTES_FOR_A_VALUE * most:
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return _marks_in(outside) > most


def _marks_in(written: bytes) -> int:
    codes = np.frombuffer(written, np.uint8)  # five times as fast as `bytes.count`
    return sum(int(np.count_nonzero(codes == mark)) for mark in _MARKS)


def read_value(written: str | bytes) -> Any:
    """A JSON value; `NaN` and numbers that Python or JSON can't hold become text.

    Raises:
        ValueError, RecursionError: If it is not JSON, or is nested too deep.
    """
    text = written if isinstance(written, str) else written.decode("utf-8-sig", "surrogatepass")
    return _lenient.decode(text)


_lenient = JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=str)
_strict: Any = JSONDecoder(
    parse_int=_integer, parse_float=_fraction, parse_constant=_refuse_constant
)
_scan: Callable[[str, int], tuple[Any, int]] = _strict.scan_once
