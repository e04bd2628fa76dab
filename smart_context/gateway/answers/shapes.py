"""Builds our own answers as the API has them, streamed or not."""

import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from smart_context.gateway.requests.outgoing import Kind

DONE = b"data: [DONE]\n\n"

_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
"""What JSON leaves as it is, and some clients split lines at."""


@dataclass(slots=True, kw_only=True)
class OwnAnswer:
    """An answer of our own, as the requested API has it."""

    kind: Kind  # the API that the client uses
    model: str  # the model that answers
    created: int  # in seconds since 1970
    id: str = field(init=False)  # names the response
    _message_id: str = field(init=False)
    _number: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.id = f"{'chatcmpl' if self.kind == 'chat' else 'resp'}-{secrets.token_hex(12)}"
        self._message_id = f"msg_{secrets.token_hex(12)}"

    def whole(self, text: str, usage: tuple[int, int]) -> bytes:
        """The answer as one body."""
        if self.kind == "responses":
            return _json(self._response("completed", text, usage))
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return _json({**self._completion("chat.completion"), "choices": [choice]} | _used(usage))

    def begin(self) -> bytes:
        """The first events of a stream."""
        if self.kind == "chat":
            return self._chunk({"role": "assistant", "content": ""})
        response = self._response("in_progress", None, None)
        item = self._item("in_progress", None)
        return b"".join(
            (
                self._event("response.created", response=response),
                self._event("response.in_progress", response=response),
                self._event("response.output_item.added", output_index=0, item=item),
                self._event("response.content_part.added", **self._at(), part=_part("")),
            )
        )

    def piece(self, text: str) -> bytes:
        """The next piece of the text."""
        if self.kind == "chat":
            return self._chunk({"content": text})
        return self._event("response.output_text.delta", **self._at(), delta=text, logprobs=[])

    def end(self, text: str, usage: tuple[int, int], *, with_usage: bool) -> Iterator[bytes]:
        """The last events of a stream."""
        if self.kind == "chat":
            yield self._chunk({}, "stop")
            if with_usage:
                chunk = self._completion("chat.completion.chunk")
                yield _data({**chunk, "choices": []} | _used(usage))
            yield DONE
            return
        yield self._event("response.output_text.done", **self._at(), text=text, logprobs=[])
        yield self._event("response.content_part.done", **self._at(), part=_part(text))
        item = self._item("completed", text)
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event("response.completed", response=self._response("completed", text, usage))

    def _completion(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data({**self._completion("chat.completion.chunk"), "choices": [choice]})

    def _response(
        self, status: str, text: str | None, usage: tuple[int, int] | None
    ) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": [] if text is None else [self._item("completed", text)],
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None if usage is None else _response_usage(usage),
        }

    def _item(self, status: str, text: str | None) -> dict[str, Any]:
        content = [] if text is None else [_part(text)]
        said = {"type": "message", "role": "assistant", "status": status, "content": content}
        return {"id": self._message_id, **said}

    def _at(self) -> dict[str, Any]:
        return {"item_id": self._message_id, "output_index": 0, "content_index": 0}

    def _event(self, kind: str, **values: Any) -> bytes:
        event = {"type": kind, "sequence_number": self._number, **values}
        self._number += 1
        return f"event: {kind}\n".encode() + _data(event)


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _used(usage: tuple[int, int]) -> dict[str, Any]:
    asked, said = usage
    counts = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    return {"usage": counts}


def _response_usage(usage: tuple[int, int]) -> dict[str, Any]:
    asked, said = usage
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + said,
    }


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False).translate(_LINE_ENDS)
    return text.encode("utf-8", "replace")  # half characters


def _data(value: Any) -> bytes:
    return b"data: " + _json(value) + b"\n\n"
