"""An OpenAI-compatible endpoint on 127.0.0.1, with a script for its good and bad days.

    with FakeOpenAI() as endpoint:
        endpoint.reply_with(failure(429, retry_after="1"), "Hello there")
        ...  # talk to endpoint.base_url
        assert endpoint.chat_requests[-1].messages[-1]["content"] == "Hi"

Without a script a chat request is answered with `You said: <the last user message>`, and texts are
embedded as hashed bags of words, so that texts that share words are similar.

The topics of a chat have a script of their own, `reply_with(…, path=FOR_TOPICS)`: the program asks
for them beside its answers, so nobody knows which request comes first.
"""

import base64
import hashlib
import json
import re
import select
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

from tests.patience import PATIENCE_S

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
MODELS = "/models"
FOR_TOPICS = f"{CHAT}#topics"
"""The chat requests for the topics of a chat."""
_ASKS_FOR_TOPICS = "You sort a chat into the topics"
DEFAULT_MODELS = ("gpt-4o", "gpt-4o-mini", "text-embedding-3-small")
_POLL_S = 0.01
_MOST_PIECES = 500
"""As many words are streamed one by one; of a longer text each piece has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the endpoint does with one request.

    Attributes:
        text: The answer; streamed in one piece a word, a long one in a few hundred pieces.
        pieces: The pieces to stream instead of words; joined when the request does not stream.
        reading: Each `(total, cache, processed)` that llama.cpp says before the first word, where
            the request asks for it.
        reasoning: What the model thinks aloud before; streamed before the text.
        tool_calls: Each `(id, name, arguments)`; streamed in fragments.
        usage: `(prompt_tokens, completion_tokens)`; `None` sends none.
        cached: Those of the prompt that it says it had read before; `None` says nothing.
        vectors: Rows to answer an embeddings request with.
        status: 200, or the failure's number; then `text` is the vendor's message.
        headers: Sent beside our own, or in their place; `Connection: close` is kept.
        body: Sent as it is, instead of anything sensible.
        content_type: Of `body`.
        gate: Waited for before piece number `hold_after`; 0 is before the first byte.
        hold_after: How many pieces are sent before the gate is waited for.
        cut_after: How many pieces are sent before the connection is closed in mid-answer.
        ends_quietly: The stream ends well formed after `cut_after` pieces, but says no more.
        finish_reason: What the last piece says; `None` leaves it out.
        sends_done: The stream ends with `[DONE]`.
    """

    text: str = ""
    pieces: tuple[str, ...] = ()
    reading: tuple[tuple[int, int, int], ...] = ()
    reasoning: tuple[str, ...] = ()
    tool_calls: tuple[tuple[str, str, str], ...] = ()
    usage: tuple[int, int] | None = (7, 3)
    cached: int | None = None
    vectors: Sequence[Sequence[float]] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    gate: threading.Event | None = None
    hold_after: int = 0
    cut_after: int | None = None
    ends_quietly: bool = False
    finish_reason: str | None = "stop"
    sends_done: bool = True

    @property
    def parts(self) -> tuple[str, ...]:
        """The pieces that the text is streamed in."""
        if self.pieces:
            return self.pieces
        words = re.findall(r"\s*\S+|\s+$", self.text)
        size = 1 + len(words) // _MOST_PIECES
        return tuple("".join(words[n : n + size]) for n in range(0, len(words), size))

    @property
    def whole(self) -> str:
        """The text at once."""
        return "".join(self.pieces) or self.text


Answer = str | Reply | Callable[[dict[str, Any]], "str | Reply"]


def failure(status: int, message: str = "", *, retry_after: str | None = None) -> Reply:
    """A refusal, in the vendor's words."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Reply(status=status, text=message or f"refused with {status}", headers=headers)


def nonsense(body: bytes = b"<html>It works!</html>", content_type: str = "text/html") -> Reply:
    """A body that no client understands, with status 200."""
    return Reply(body=body, content_type=content_type)


def cut(text: str, *, after: int = 1) -> Reply:
    """An answer whose connection breaks after some pieces."""
    return Reply(text=text, cut_after=after)


def held(text: str, gate: threading.Event, *, after: int = 0) -> Reply:
    """An answer that waits for `gate` after some pieces; 0 is before the first byte."""
    return Reply(text=text, gate=gate, hold_after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it came; `path` is without the `/v1`, header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def script(self) -> str:
        """Whose answers it gets: its path's, or those for topics."""
        first = next(iter(self.body.get("messages") or ()), {})
        asks_for_topics = str(first.get("content")).startswith(_ASKS_FOR_TOPICS)
        return FOR_TOPICS if asks_for_topics and self.path == CHAT else self.path

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of a chat request."""
        assert "messages" in self.body, f"{self.method} {self.path}: {self.raw[:300]!r}"
        return cast("list[dict[str, Any]]", self.body["messages"])

    @property
    def key(self) -> str:
        """The key that the client sent."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")


class FakeOpenAI:
    """A real HTTP server in its own thread; use it as a context manager.

    Attributes:
        requests: Every request so far, of every path, in order of arrival.
        answer: What a chat request gets when the script has run out.
        dimension: Of the default embeddings.
        at_port: Where to listen; 0 lets the system choose.
        models: The ids that `/models` lists.
        said_of_models: What it says of each of them besides.
        unknown_fields: Keys of a body that are refused with 400, as strict servers do.
    """

    def __init__(
        self,
        *,
        answer: Answer | None = None,
        dimension: int = 64,
        at_port: int = 0,
        models: Sequence[str] = DEFAULT_MODELS,
    ) -> None:
        self.requests: list[Request] = []
        self.answer: Answer = answer if answer is not None else _echo
        self.dimension = dimension
        self._at_port = at_port
        self.models = tuple(models)
        self.said_of_models: Mapping[str, Any] = {}
        self.unknown_fields: set[str] = set()
        self._scripts: dict[str, deque[Answer]] = {}
        self._changed = threading.Condition()
        self._hung_up = 0
        self._gates: list[threading.Event] = []
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", self._at_port), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        assert self._thread is not None
        for gate in self._gates:
            gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens: `at_port`, or what the system chose."""
        assert self._server is not None
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What goes into `base_url` of `.vault.toml`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chat_requests(self) -> list[Request]:
        """The chat requests so far, but for those for topics."""
        return [request for request in list(self.requests) if request.script == CHAT]

    @property
    def topics_requests(self) -> list[Request]:
        """The requests for the topics of a chat so far."""
        return [request for request in list(self.requests) if request.script == FOR_TOPICS]

    @property
    def embedding_requests(self) -> list[Request]:
        """The embeddings requests so far."""
        return [request for request in list(self.requests) if request.script == EMBEDDINGS]

    @property
    def hung_up(self) -> int:
        """How many answers the client did not wait for."""
        return self._hung_up

    @property
    def connections(self) -> int:
        """How many connections have been made."""
        assert self._server is not None
        return len(self._server.connections)

    def reply_with(self, *answers: Answer, path: str = CHAT) -> None:
        """Put answers at the end of a script; each is used once, then the default is."""
        self._scripts.setdefault(path, deque()).extend(answers)

    def wait_for_requests(
        self, count: int, *, path: str = CHAT, timeout_s: float = PATIENCE_S
    ) -> None:
        """Block until a path has had `count` requests; call it in a thread from async tests."""
        self._wait(lambda: sum(r.script == path for r in self.requests) >= count, timeout_s)

    def wait_for_hang_up(self, count: int = 1, *, timeout_s: float = PATIENCE_S) -> None:
        """Block until clients have closed `count` connections in mid-answer."""
        self._wait(lambda: self._hung_up >= count, timeout_s)

    def _wait(self, reached: Callable[[], bool], timeout_s: float) -> None:
        with self._changed:
            if not self._changed.wait_for(reached, timeout_s):
                seen = [(request.method, request.path) for request in self.requests]
                raise AssertionError(f"waited {timeout_s} s in vain; requests so far: {seen}")

    def received(self, request: Request) -> Reply:
        """Record a request and choose what happens to it."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            script = self._scripts.get(request.script)
            answer = script.popleft() if script else None
        reply = self._reply(request, answer)
        if reply.gate is not None:
            self._gates.append(reply.gate)
        return reply

    def client_left(self) -> None:
        """Record that a client closed its connection before the answer was whole."""
        with self._changed:
            self._hung_up += 1
            self._changed.notify_all()

    def _reply(self, request: Request, answer: Answer | None) -> Reply:
        refused = self.unknown_fields & request.body.keys()
        if answer is None and refused:
            return failure(400, f"Unknown parameter: {', '.join(sorted(refused))}")
        if answer is None:
            answer = self.answer if request.path == CHAT else Reply()
        if callable(answer):
            answer = answer(request.body)
        reply = Reply(text=answer) if isinstance(answer, str) else answer
        if request.path == EMBEDDINGS and reply.vectors is None:
            return replace(reply, vectors=[self.embed(text) for text in _inputs(request.body)])
        return reply

    def embed(self, text: str) -> list[float]:
        """The default embedding of a text: its words, each hashed to one dimension."""
        vector = [0.0] * self.dimension
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            vector[int.from_bytes(digest[:4], "big") % self.dimension] += 1.0
        return vector


def _echo(body: dict[str, Any]) -> str:
    said = [entry for entry in body.get("messages", ()) if entry.get("role") == "user"]
    content = said[-1].get("content") if said else ""
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content)
    return f"You said: {content}"


def _inputs(body: Mapping[str, Any]) -> list[str]:
    given = body.get("input", [])
    return [given] if isinstance(given, str) else list(given)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: FakeOpenAI

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connections: list[Any] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are what many tests are about."""

    def hang_up(self) -> None:
        for connection in self.connections:
            self.shutdown_request(connection)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *arguments: Any) -> None:
        """Keep the tests' output clean."""

    def do_GET(self) -> None:
        self._respond(b"")

    def do_DELETE(self) -> None:
        self._respond(b"")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(length)
        if len(raw) == length:
            self._respond(raw)
        else:  # its client ended in the midst of it
            self.close_connection = True

    def _respond(self, raw: bytes) -> None:
        request = self._request(raw)
        reply = self.server.endpoint.received(request)
        try:
            self._play(request, reply)
        except (ConnectionError, _ClientLeft):
            self.server.endpoint.client_left()
            self.close_connection = True

    def _request(self, raw: bytes) -> Request:
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {}
        return Request(
            method=self.command,
            path=self.path.removeprefix("/v1"),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body if isinstance(body, dict) else {},
            raw=raw,
        )

    def _play(self, request: Request, reply: Reply) -> None:
        if reply.hold_after == 0:
            self._hold(reply.gate)
        if reply.body is not None:
            self._send(reply.status, reply.body, reply.content_type, reply.headers)
        elif reply.status != 200:
            error = {"error": {"message": reply.text, "type": "fake", "code": None}}
            self._send_json(error, reply.status, reply.headers)
        elif request.path == MODELS:
            endpoint = self.server.endpoint
            listed = [
                {"id": name, "object": "model", **endpoint.said_of_models}
                for name in endpoint.models
            ]
            self._send_json({"object": "list", "data": listed})
        elif request.path == EMBEDDINGS:
            self._send_json(_embeddings_body(request.body, reply), headers=reply.headers)
        elif request.path != CHAT:
            self._send_json({"error": {"message": f"no route {request.path}"}}, 404)
        elif request.body.get("stream"):
            self._stream(request.body, reply)
        else:
            self._send_json(_completion_body(request.body, reply), headers=reply.headers)

    def _send_json(
        self, value: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self._send(status, json.dumps(value).encode(), "application/json", headers or {})

    def _send(
        self, status: int, body: bytes, content_type: str, headers: Mapping[str, str]
    ) -> None:
        self._head(status, content_type, {"Content-Length": str(len(body)), **headers})
        self.wfile.write(body)

    def _head(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _stream(self, body: Mapping[str, Any], reply: Reply) -> None:
        self._head(200, "text/event-stream", {**reply.headers, "Transfer-Encoding": "chunked"})
        for position, event in enumerate(_events(body, reply)):
            if reply.hold_after and position == reply.hold_after:
                self._hold(reply.gate)
            if position == reply.cut_after:
                self._break_off(reply)
                return
            self._chunk(f"data: {json.dumps(event)}\n\n".encode())
        if reply.sends_done:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _break_off(self, reply: Reply) -> None:
        if reply.ends_quietly:
            self._chunk(b"")
        self.close_connection = True

    def _chunk(self, payload: bytes) -> None:
        self.wfile.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
        self.wfile.flush()

    def _hold(self, gate: threading.Event | None) -> None:
        while gate is not None and not gate.wait(_POLL_S):
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.rfile.peek(1):  # type: ignore[attr-defined]
                raise _ClientLeft


class _ClientLeft(Exception):
    """The client closed the connection while its answer was held back."""


def _usage_body(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    prompt, completion = reply.usage
    details = {} if reply.cached is None else {"cached_tokens": reply.cached}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **({"prompt_tokens_details": details} if details else {}),
    }


def _completion_body(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.whole}
    if reply.reasoning:
        message["reasoning_content"] = "".join(reply.reasoning)
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in reply.tool_calls
        ]
    completion = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
    }
    usage = _usage_body(reply)
    return completion if usage is None else {**completion, "usage": usage}


def _events(body: Mapping[str, Any], reply: Reply) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"reasoning_content": part} for part in reply.reasoning]
    deltas += [{"content": part} for part in reply.parts]
    for index, (call_id, name, arguments) in enumerate(reply.tool_calls):
        opening = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **opening}]})
        for start in range(0, len(arguments), 5):
            fragment = {"arguments": arguments[start : start + 5]}
            deltas.append({"tool_calls": [{"index": index, "function": fragment}]})
    events = _progress(body, reply)
    events += [_event(body, [{"index": 0, "delta": delta}]) for delta in deltas]
    last = {"index": 0, "delta": {}, "finish_reason": reply.finish_reason}
    events.append(_event(body, [last]))
    wants_usage = (body.get("stream_options") or {}).get("include_usage")
    if wants_usage and reply.usage is not None:
        events.append({**_event(body, []), "usage": _usage_body(reply)})
    return events


def _progress(body: Mapping[str, Any], reply: Reply) -> list[dict[str, Any]]:
    if not body.get("return_progress"):
        return []
    nothing = _event(body, [{"index": 0, "delta": {"role": "assistant", "content": None}}])
    told = [
        {"total": total, "cache": cache, "processed": done, "time_ms": 10 * done}
        for total, cache, done in reply.reading
    ]
    return [{**nothing, "prompt_progress": progress} for progress in told]


def _event(body: Mapping[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body.get("model"),
        "choices": choices,
    }


def _embeddings_body(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    vectors = reply.vectors or []
    encode = _as_base64 if body.get("encoding_format") == "base64" else list
    rows = [
        {"object": "embedding", "index": index, "embedding": encode(vector)}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": rows, "model": body.get("model"), "usage": usage}


def _as_base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
