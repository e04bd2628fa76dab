"""Parses the answers of OpenAI-compatible endpoints.

Endpoints differ in small ways, so parsing is lenient. An answer that can't be parsed raises
`AnswerNotUnderstood`, which quotes its beginning.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smart_context.base.values import text_in
from smart_context.llm.failures import (
    AnswerNotUnderstood,
    EndpointFailure,
    RequestFailed,
    vendor_words,
)
from smart_context.llm.models import (
    AnswerPiece,
    Completion,
    Matrix,
    ReadingProgress,
    ToolCall,
    Usage,
)
from smart_context.llm.thoughts import SplitPiece, ThoughtSplitter, joined, split_thoughts

_MOST_CALLS = 128
_LONGEST_NAME = 200
_LONGEST_ID = 10_000
"""The most characters of an id; some gateways store state for the next request in it."""


@dataclass(slots=True)
class _StreamedCall:
    id: str
    index: object
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ToolCalls:
    """Tool calls assembled from fragments, matched by id, or else by index."""

    calls: list[_StreamedCall] = field(default_factory=list)

    def add(self, fragment: Mapping[str, Any]) -> int:
        """Add a fragment; returns the number of characters it added."""
        call = self._call(str(fragment.get("id") or "")[:_LONGEST_ID], fragment.get("index"))
        function = fragment.get("function")
        if not isinstance(function, Mapping):
            return 0
        call.name = call.name or str(function.get("name") or "")[:_LONGEST_NAME]
        call.arguments.append(_arguments(function.get("arguments")))
        return len(call.arguments[-1])

    def _call(self, call_id: str, index: object) -> _StreamedCall:
        for call in reversed(self.calls):
            if (call_id and call.id == call_id) or (not call_id and call.index == index):
                return call
        if not call_id and index is None and self.calls:
            return self.calls[-1]
        if len(self.calls) == _MOST_CALLS:
            raise AnswerNotUnderstood(f"more than {_MOST_CALLS} tool calls in one answer")
        self.calls.append(_StreamedCall(call_id, index))
        return self.calls[-1]

    @property
    def whole(self) -> tuple[ToolCall, ...]:
        """The calls as far as they have arrived."""
        return tuple(
            ToolCall(
                id=call.id or f"call_{number}", name=call.name, arguments="".join(call.arguments)
            )
            for number, call in enumerate(self.calls)
        )


def _arguments(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


_SHOWN = 200
_LONGEST_LINE = 2 << 20
_MANY_LINES = 32
"""The most lines passed on as separate pieces; more become one: each costs a frame and a write."""

_MOST_NUMBERS = 16_384
_MARKS_OF_A_VECTOR = 40
"""The most quotes and brackets around one embedding, other fields included."""

MOST_CHARACTERS = 4_000_000
"""The most characters of an answer and its reasoning: a million tokens."""

_NOTHING = SplitPiece()
_AT_ITS_LIMIT = "length"
_FILTERED = "content_filter"
"""Reasons for the end of an answer, as in OpenAI's API: the length limit, and a filter."""


class VendorError(RequestFailed):
    """An error sent in place of an answer, with status 200."""

    def __init__(self, words: str) -> None:
        super().__init__(EndpointFailure(trouble="refused", words=words, status=200))


def read_completion(body: bytes) -> Completion:
    """A whole answer.

    Raises:
        AnswerNotUnderstood: If it can't be parsed.
        VendorError: If it is an error with status 200.
    """
    answer = _json_object(body)
    choice = _first_choice(answer)
    message = choice.get("message") if choice else None
    if not isinstance(message, Mapping):
        raise AnswerNotUnderstood(_beginning(body))
    calls = ToolCalls()
    for call in _objects(message.get("tool_calls")):
        calls.add(call)
    thoughts, text = split_thoughts(_text(message))
    return Completion(
        text=text,
        reasoning=_reasoning(message) + thoughts,
        tool_calls=calls.whole,
        usage=_usage(answer),
        is_cut_off=choice is not None and choice.get("finish_reason") == _AT_ITS_LIMIT,
        is_filtered=choice is not None and choice.get("finish_reason") == _FILTERED,
    )


_MARKS = re.compile(r'[{}"]|\\.', re.DOTALL)


class ObjectEnd:
    """Finds the end of the first JSON object in a text that comes in pieces."""

    def __init__(self) -> None:
        self._text, self._read = "", 0
        self._start, self._depth, self._is_quoted = 0, 0, False

    def reached(self, text: str) -> bool:
        """True once a non-empty object is complete; the text around it is ignored."""
        self._text += text
        for mark in _MARKS.finditer(self._text, self._read):
            self._read = mark.end()
            if self._takes(mark.group(), mark.start()) and self._is_object():
                return True
        return False

    def _takes(self, mark: str, place: int) -> bool:
        """Follow one mark; True if it closes the outermost object."""
        if mark == '"':
            self._is_quoted = self._depth > 0 and not self._is_quoted
        elif mark == "{" and not self._is_quoted:
            self._start = self._start if self._depth else place
            self._depth += 1
        elif mark == "}" and not self._is_quoted and self._depth:
            self._depth -= 1
            return not self._depth
        return False

    def _is_object(self) -> bool:
        try:
            return bool(json.loads(self._text[self._start : self._read]))
        except (ValueError, RecursionError):
            return False


def read_vectors(body: bytes, count: int) -> Matrix:
    """Shape (count, d): the rows as sent, in the order of the texts.

    Raises:
        AnswerNotUnderstood: If rows are missing, of different lengths, or not finite numbers.
        VendorError: If it is an error with status 200.
    """
    marks = max(body.count(mark) for mark in (b'"', b"{", b"["))
    if marks > _MARKS_OF_A_VECTOR * (count + 2):
        raise AnswerNotUnderstood(_beginning(body))
    rows = _objects(_json_object(body).get("data"))
    if len(rows) != count:
        raise AnswerNotUnderstood(f"expected {count} embeddings, found {len(rows)}")
    if all(isinstance(row.get("index"), int) for row in rows):
        rows = sorted(rows, key=lambda row: int(row["index"]))
    vectors = [_vector(row.get("embedding")) for row in rows]
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) != 1 or lengths[0] == 0:
        raise AnswerNotUnderstood(f"expected embeddings of one length, found lengths {lengths}")
    matrix = np.stack(vectors)
    if not np.isfinite(matrix).all():
        raise AnswerNotUnderstood("expected finite numbers, found NaN or infinity")
    return matrix


class StreamReader:
    """Turns the bytes of a streamed answer into pieces, wherever the bytes are cut.

    Also accepts a whole answer from a server that ignores `stream`.

    Attributes:
        ended: True if the endpoint marked the end; otherwise the answer was cut off.
        characters: The characters of text, reasoning and tool calls so far.
        reading: The server's last report of its progress in reading the request.
    """

    def __init__(self) -> None:
        self.ended = False
        self.characters = 0
        self.reading: ReadingProgress | None = None
        self._rest = bytearray()
        self._calls = ToolCalls()
        self._thinking = ThoughtSplitter()
        self._usage: Usage | None = None
        self._saw_event = False
        self._reason: object = ""
        self._strays = bytearray()

    def feed(self, chunk: bytes) -> Iterator[AnswerPiece]:
        """The pieces that are complete now, up to the first invalid event.

        Raises:
            AnswerNotUnderstood: At an event that is not JSON, or an endless line.
            RequestFailed: If the answer is over the size limit.
            VendorError: If the endpoint reports an error in mid-stream.
        """
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest + lines[0])
            self._rest.clear()
        self._rest += rest
        before = self.reading
        said, failure = self._said(lines)
        if self.reading != before:
            yield AnswerPiece(reading=self.reading)
        for told in said:
            if told != _NOTHING:
                yield _piece(told)
        if failure:
            raise failure
        if len(self._rest) > _LONGEST_LINE:
            raise AnswerNotUnderstood(_beginning(self._rest))

    def last(self) -> Iterator[AnswerPiece]:
        """The remaining text, then one piece with all that comes last.

        Raises:
            AnswerNotUnderstood: If there was no event and no whole answer.
            VendorError: As `feed`.
        """
        yield from self.feed(b"\n")
        if not self._saw_event:
            whole = read_completion(bytes(self._strays))
            self.ended = True
            yield AnswerPiece(
                text=whole.text,
                reasoning=whole.reasoning,
                tool_calls=whole.tool_calls,
                usage=whole.usage,
                is_cut_off=whole.is_cut_off,
                is_filtered=whole.is_filtered,
            )
            return
        last = replace(
            self.held(),
            tool_calls=self._calls.whole,
            usage=self._usage,
            is_cut_off=self._reason == _AT_ITS_LIMIT,
            is_filtered=self._reason == _FILTERED,
        )
        if last != AnswerPiece():
            yield last

    def held(self) -> AnswerPiece:
        """The text held back so far, since it may begin a tag."""
        return _piece(self._thinking.rest())

    def _said(self, lines: Sequence[bytes]) -> tuple[list[SplitPiece], Exception | None]:
        """The content of each line, or of all as one if they are many; and the error, if any."""
        said: list[SplitPiece] = []
        failure = None
        for line in lines:
            try:
                said.append(self._line(line.strip()))
            except RequestFailed as error:
                failure = error
                break
        if len(said) > _MANY_LINES:
            said = [joined(said)]
        return said, failure

    def _line(self, line: bytes) -> SplitPiece:
        """The content of one line."""
        if not line.startswith(b"data:"):
            if not self._saw_event:
                self._strays += line[: max(0, _LONGEST_LINE - len(self._strays))]
            return _NOTHING
        payload = line[len(b"data:") :].strip()
        self._saw_event = True
        if payload == b"[DONE]":
            self.ended = True
            return _NOTHING
        return self._event(_json_object(payload)) if payload else _NOTHING

    def _event(self, event: Mapping[str, Any]) -> SplitPiece:
        self._usage = _usage(event) or self._usage
        self.reading = ReadingProgress.from_dict(event.get("prompt_progress")) or self.reading
        choice = _first_choice(event)
        if choice is None:
            return _NOTHING
        if reason := choice.get("finish_reason"):
            self.ended = True
            self._reason = reason
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return _NOTHING
        for call in _objects(delta.get("tool_calls")):
            self.characters += self._calls.add(call)
        told = SplitPiece(thoughts=_reasoning(delta)).then(self._thinking.split(_text(delta)))
        self.characters += len(told.thoughts) + len(told.said)
        if self.characters > MOST_CHARACTERS:
            raise RequestFailed(EndpointFailure(trouble="endless"))
        return told


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    """The tokens that an answer, or its last event, reports."""
    usage, timings = Usage.from_dict(answer.get("usage")), answer.get("timings")
    if usage is None or usage.cached_tokens is not None or not isinstance(timings, Mapping):
        return usage
    known = timings.get("cache_n")  # llama.cpp's
    is_told = isinstance(known, int) and 0 <= known <= usage.prompt_tokens
    return replace(usage, cached_tokens=known) if is_told else usage


def _piece(told: SplitPiece) -> AnswerPiece:
    return AnswerPiece(text=told.said, reasoning=told.thoughts, takes_back=told.takes_back)


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AnswerNotUnderstood(_beginning(body)) from error
    if not isinstance(value, Mapping):
        raise AnswerNotUnderstood(_beginning(body))
    if value.get("error"):
        raise VendorError(vendor_words(value) or _beginning(body))
    return value


def _first_choice(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices = _objects(answer.get("choices"))
    return choices[0] if choices else None


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or message.get("refusal")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in _objects(content))
    return text_in(content)


def _reasoning(message: Mapping[str, Any]) -> str:
    """The reasoning, which servers send in one of two fields, or as parts of the content.

    OpenAI's API has none.
    """
    text = text_in(message.get("reasoning_content") or message.get("reasoning"))
    parts = _objects(message.get("content"))
    thinking = (part.get("thinking") for part in parts if part.get("type") == "thinking")
    return text or "".join(_text({"content": thought}) for thought in thinking)


def _vector(embedding: object) -> Matrix:
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
        if isinstance(embedding, list) and len(embedding) <= _MOST_NUMBERS:
            with np.errstate(over="ignore"):
                return np.array(embedding, np.float32).reshape(-1)
    except (ValueError, TypeError, OverflowError, binascii.Error):
        pass
    raise AnswerNotUnderstood(f"expected an embedding, found {_shown(embedding)}")


def _shown(value: object) -> str:
    return f"{len(value)} entries" if isinstance(value, list) else str(value)[:80]


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return (
        [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
    )


def _beginning(body: bytes | bytearray) -> str:
    return body[:_SHOWN].decode("utf-8", "replace").strip() or "an empty body"
