"""The wire: JSON-RPC 2.0 frames of requests, replies and events. Pure.

Any text or bytes parse to a frame or to an error, never to an exception.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NoReturn, TypeVar

from smart_context.base.json_limits import holds_more, is_nested_deeper
from smart_context.base.threads import beside
from smart_context.web.limits import MAX_FRAME_BYTES, MAX_JSON_DEPTH

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_COMMAND = -32601
INVALID_PARAMS = -32602
COMMAND_FAILED = -32603

_MOST_AT_ONCE = 1 << 18
"""The most bytes or characters of JSON that are read at once, within ten milliseconds."""

T = TypeVar("T")

JsonId = str | int | float | None
"""A request's id, which the reply repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRequest:
    """A command to run and answer."""

    id: JsonId
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A command to run without a reply."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """A frame that can't be run."""

    code: int  # the JSON-RPC error code
    message: str  # the problem, for the user
    id: JsonId = None  # the request's id, if it could be read
    is_silent: bool = False  # it was a notification, which gets no reply


class JsonRefused(ValueError):
    """Not JSON (`PARSE_ERROR`), or JSON that is refused (`INVALID_REQUEST`)."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


def parse_frame(raw: str | bytes) -> CommandRequest | Notification | Invalid:
    """Parse a client's frame; never raises."""
    try:
        document = read_json(raw)
    except JsonRefused as refused:
        return Invalid(code=refused.code, message=str(refused))
    if isinstance(document, list):
        return _not_a_request("batches are not supported; send one request a frame")
    if not isinstance(document, dict):
        return _not_a_request(f"expected a JSON object, found {_kind(document)}")
    return _frame_of(document)


def _frame_of(  # noqa: PLR0911  (one for each thing that can be wrong)
    document: Mapping[str, Any],
) -> CommandRequest | Notification | Invalid:
    request_id, method = document.get("id"), document.get("method")
    if not _is_id(request_id):
        return _not_a_request(f"`id` must be a string or a number, found {_kind(request_id)}")
    if document.get("jsonrpc") != "2.0":
        return _not_a_request('`jsonrpc` must be "2.0"', request_id)
    if not isinstance(method, str):
        return _not_a_request("`method` must be the name of a command, as a string", request_id)
    params = document.get("params", {})
    if not isinstance(params, dict):
        message = f"`params` must be an object of named parameters, found {_kind(params)}"
        is_silent = "id" not in document
        return Invalid(code=INVALID_PARAMS, message=message, id=request_id, is_silent=is_silent)
    if "id" not in document:
        return Notification(method=method, params=params)
    return CommandRequest(id=request_id, method=method, params=params)


def render_error(request_id: JsonId, code: int, message: str) -> str:
    """The reply to a request that failed."""
    error = {"code": code, "message": message}
    return render_json({"jsonrpc": "2.0", "id": request_id, "error": error})


def render_notification(method: str, params: Mapping[str, Any]) -> str:
    """An event, as clients see it.

    Raises:
        ValueError: If the payload can't be serialised.
    """
    return render_json({"jsonrpc": "2.0", "method": method, "params": params})


def render_json(document: Any) -> str:
    """JSON in ASCII: its length is its size in bytes, and surrogates can't break it.

    Raises:
        ValueError: If the document has NaN, a cycle, or other objects than JSON's.
    """
    try:
        return json.dumps(document, separators=(",", ":"), allow_nan=False)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


AT_ONCE = 1_000
"""The entries of lists and objects that are written at once, which takes about a millisecond."""


def is_long(document: Any) -> bool:
    """True if writing a document at once would let others wait."""
    return holds_more(document, AT_ONCE)


def slices_of(value: Any, levels: int = MAX_JSON_DEPTH) -> Iterator[str]:
    """The result of `render_json` in slices: the encoder blocks all threads for each of them."""
    if levels == 0 or not is_long(value):
        yield render_json(value)
        return
    begin, end = "{}" if isinstance(value, dict) else "[]"
    yield begin
    yield from _inner(value, levels)
    yield end


def _inner(value: Any, levels: int) -> Iterator[str]:
    """The slices of a list or an object, without its brackets."""
    if not is_long(value):
        yield render_json(value)[1:-1]
    elif len(value) > 1:
        yield from _inner(_cut(value, 0, len(value) // 2), levels)
        yield ","
        yield from _inner(_cut(value, len(value) // 2, len(value)), levels)
    elif isinstance(value, dict):
        ((key, member),) = value.items()
        yield render_json({key: 0})[1:-2]
        yield from slices_of(member, levels - 1)
    else:
        yield from slices_of(value[0], levels - 1)


def _cut(value: Any, first: int, end: int) -> Any:
    return dict(islice(value.items(), first, end)) if isinstance(value, dict) else value[first:end]


async def read_beside(read: Callable[[str | bytes], T], raw: str | bytes) -> T:
    """The result of reading a client's JSON; in a thread if it is long, so that others go on."""
    return await beside(partial(read, raw), is_long=len(raw) >= _MOST_AT_ONCE)


def read_json(raw: str | bytes) -> Any:
    """Parse untrusted JSON.

    Lone surrogates become U+FFFD. Refused are invalid UTF-8, NaN and infinite numbers, duplicate
    keys, nesting deeper than `MAX_JSON_DEPTH`, and more than `MAX_FRAME_BYTES`.

    Raises:
        JsonRefused: With the JSON-RPC code.
    """
    size = len(raw)
    if size <= MAX_FRAME_BYTES and isinstance(raw, str):
        size = _size_of(raw)
    if size > MAX_FRAME_BYTES:
        limit = MAX_FRAME_BYTES // 2**20
        raise JsonRefused(INVALID_REQUEST, f"too large: at most {limit} MiB are taken")
    text = raw if isinstance(raw, str) else _decoded(raw)
    _check_depth(text)
    try:
        return _DECODER.decode(_without_lone_surrogates(text))
    except (ValueError, RecursionError) as error:
        if isinstance(error, JsonRefused):
            raise
        raise JsonRefused(PARSE_ERROR, f"not JSON: {error}") from None


def _size_of(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise JsonRefused(PARSE_ERROR, "not JSON: the text is not valid Unicode") from None


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise JsonRefused(PARSE_ERROR, f"not UTF-8 at byte {error.start}") from None


def _check_depth(text: str) -> None:
    try:
        is_deep = is_nested_deeper(text, MAX_JSON_DEPTH)
    except ValueError as error:
        raise JsonRefused(PARSE_ERROR, f"not JSON: {error}") from None
    if is_deep:
        raise JsonRefused(
            INVALID_REQUEST, f"nested too deeply: at most {MAX_JSON_DEPTH} levels are taken"
        )


_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_SURROGATE_HINT = re.compile(r"\\u[dD][89a-fA-F]")


def _without_lone_surrogates(text: str) -> str:
    if _SURROGATE_HINT.search(text) is None:
        return text
    return _ESCAPE.sub(lambda found: r"\ufffd" if found["lone"] else found[0], text)


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise JsonRefused(INVALID_REQUEST, "an object has the same key twice")
    return document


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise JsonRefused(INVALID_REQUEST, f"the number {digits[:40]} is too large")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise JsonRefused(PARSE_ERROR, f"not JSON: {name} is not a number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_refuse_constant
)


def _not_a_request(reason: str, request_id: JsonId = None) -> Invalid:
    return Invalid(code=INVALID_REQUEST, message=f"not a request: {reason}", id=request_id)


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a truth value"}
    return "null" if value is None else names.get(type(value), "a number")
