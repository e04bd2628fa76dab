"""Gathers an answer of a provider while its bytes are passed on unchanged."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from smart_context.base.values import id_in, text_in
from smart_context.chat.messages import Part
from smart_context.gateway.answers.events import EventReader
from smart_context.gateway.requests.body import MAX_ANSWER_VALUES, has_more_values, read_value
from smart_context.gateway.requests.units import call_part, content_parts, response_units
from smart_context.llm.echoes import RepeatedKeys
from smart_context.llm.models import Usage
from smart_context.llm.thoughts import split_thoughts

LARGEST_BODY = 16 << 20
"""Larger JSON answers are passed on, but not read."""


MOST_CHOICES = 128
"""The maximum number of answers that a request can ask for; more are passed on, but not kept."""

MOST_CALLS = 1000
"""The maximum number of tool calls of an answer that are kept; agents make a few at once."""


ENDINGS = {
    "length": "cut_off",
    "max_output_tokens": "cut_off",
    "content_filter": "filtered",
}
"""The field of a stored answer that marks its early end, by the provider's word for the reason."""


@dataclass(slots=True)
class ArrivingCall:
    """A tool call; its arguments come in pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def part(self) -> Part:
        """The part of the message that a chat stores."""
        return call_part(self.id, self.name, "".join(self.arguments))


@dataclass(slots=True)
class Choice:
    """One of the requested answers."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[int, ArrivingCall] = field(default_factory=dict)
    parts: tuple[Part, ...] | None = None
    ending: str = ""  # the provider's reason for an early end; empty if there was none

    @property
    def text(self) -> str:
        """The text of the answer, as the provider sent it."""
        return "".join(self.texts)

    @property
    def said(self) -> str:
        """The text without the thoughts that the model wrote into it."""
        return split_thoughts(self.text)[1]

    @property
    def call_ids(self) -> tuple[str, ...]:
        """The ids of the answer's tool calls."""
        content = self.content()
        parts = () if isinstance(content, str) else content
        return tuple(str(part["tool_call_id"]) for part in parts if part.get("tool_call_id"))

    def content(self) -> str | tuple[Part, ...]:
        """The content that a chat stores."""
        if self.parts is not None:
            return self.parts
        written, said = split_thoughts(self.text)
        thought = "".join(self.thoughts) + written
        if not thought.strip() and not self.calls:
            return said
        return (
            *([{"type": "reasoning", "text": thought}] if thought.strip() else ()),
            *([{"type": "text", "text": said}] if said else ()),
            *(call.part() for call in self.calls.values()),
        )

    def call(self, number: int) -> ArrivingCall:
        """The call of this number; after `MOST_CALLS`, one that is not kept."""
        if number not in self.calls and len(self.calls) >= MOST_CALLS:
            return ArrivingCall()
        return self.calls.setdefault(number, ArrivingCall())


class GatheredAnswer:
    """An answer, as far as it has arrived.

    Attributes:
        choices: The choices by number; one unless more were requested.
        usage: Tokens as the provider counted them; `None` if it gave no count.
        response: The provider's id of the response.
        conversation: The provider's id of the conversation that it holds; empty for none.
        error: The error that interrupted it; empty for none.
        is_whole: True if the provider has sent its end.
        model: The model that answered, as the provider names it.
    """

    def __init__(self) -> None:
        self.choices: dict[int, Choice] = defaultdict(Choice)
        self.usage: Usage | None = None
        self.response = ""
        self.conversation = ""
        self.error = ""
        self.is_whole = False
        self.model = ""

    @property
    def first(self) -> Choice:
        """The choice that continues the chat."""
        return self.choices[min(self.choices, default=0)]

    def clean(self, echoes: RepeatedKeys) -> None:
        """Remove our keys, in case the provider has repeated them."""
        self.response, self.model = echoes.text(self.response), echoes.text(self.model)
        self.conversation = echoes.text(self.conversation)
        self.error = echoes.error(self.error)
        for choice in self.choices.values():
            choice.texts = [echoes.text(choice.text)]
            choice.thoughts = [echoes.text("".join(choice.thoughts))]
            for call in choice.calls.values():
                call.id, call.name = echoes.text(call.id), echoes.text(call.name)
                call.arguments = [echoes.text("".join(call.arguments))]
            choice.parts = echoes.value(choice.parts)

    def take(self, event: object) -> str:
        """Add an event's object, or a whole answer; returns the first choice's new text."""
        if not isinstance(event, Mapping):
            return ""
        if "choices" in event:
            return self._chat(event)
        kind = event.get("type")
        if isinstance(kind, str) and (kind.startswith("response.") or kind == "error"):
            return self._response_event(kind, event)
        if event.get("object") == "response":
            return self._response(event)
        if event.get("error"):
            self.error = _words(event["error"])
        self._note_usage(event.get("usage"))
        return ""

    def _chat(self, event: Mapping[str, Any]) -> str:
        self.response = self.response or text_in(event.get("id"))
        self.model = self.model or text_in(event.get("model"))
        if event.get("error"):
            self.error = _words(event["error"])
        self._note_usage(event.get("usage"))
        new = ""
        choices = event["choices"]
        for entry in choices if isinstance(choices, list) else ():
            if not isinstance(entry, Mapping):
                continue
            number = entry.get("index", 0)
            number = number if isinstance(number, int) else 0
            if number not in self.choices and len(self.choices) >= MOST_CHOICES:
                continue
            choice = self.choices[number]
            said = entry.get("delta") or entry.get("message")
            if isinstance(said, Mapping):
                text = _chat_said(choice, said)
                new += text if choice is self.first else ""
            ending = entry.get("finish_reason")
            self.is_whole = self.is_whole or ending is not None
            choice.ending = ENDINGS.get(text_in(ending), choice.ending)
        return new

    def _response_event(self, kind: str, event: Mapping[str, Any]) -> str:
        choice = self.choices[0]
        if kind in {"response.output_text.delta", "response.refusal.delta"}:
            choice.texts.append(text_in(event.get("delta")))
            return choice.texts[-1]
        if kind == "response.reasoning_summary_text.delta":
            choice.thoughts.append(text_in(event.get("delta")))
        elif kind in {"response.failed", "error"}:
            response = event.get("response")
            holder = response if isinstance(response, Mapping) else event
            self.error = _words(holder.get("error") or holder) or "The provider gave up."
        if kind in {"response.created", "response.completed", "response.incomplete"}:
            response = event.get("response")
            if isinstance(response, Mapping):
                had_text = bool(choice.texts)
                new = self._response(response, is_end=kind != "response.created")
                return "" if had_text else new
        elif kind == "response.output_item.done" and isinstance(event.get("item"), Mapping):
            self._item(choice, event["item"])
        return ""

    def _item(self, choice: Choice, item: Mapping[str, Any]) -> None:
        """Keep a tool call, in case the stream breaks before the complete response."""
        for unit in response_units([item]):
            for part in unit.content if not isinstance(unit.content, str) else ():
                if part.get("type") == "tool_call":
                    call = choice.call(len(choice.calls))
                    call.id = text_in(part.get("tool_call_id"))
                    call.name = text_in(part.get("tool_name"))
                    call.arguments = [text_in(part.get("args"))]

    def _response(self, response: Mapping[str, Any], *, is_end: bool = True) -> str:
        self.response = text_in(response.get("id")) or self.response
        self.conversation = id_in(response.get("conversation")) or self.conversation
        self.model = text_in(response.get("model")) or self.model
        if not is_end:
            return ""
        self.is_whole = response.get("status") not in ("failed", "cancelled", "in_progress")
        if response.get("error"):
            self.error = _words(response["error"])
        self._note_usage(response.get("usage"))
        choice = self.choices[0]
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else ""
        choice.ending = ENDINGS.get(text_in(reason), "")
        output = response.get("output")
        outputs = output if isinstance(output, list) else []
        items = [item for item in outputs if isinstance(item, Mapping)]
        parts = tuple(part for unit in response_units(items) for part in _parts(unit.content))
        if parts:
            is_text = len(parts) == 1 and parts[0].get("type") == "text"
            choice.parts = None if is_text else parts
            texts = [text_in(part.get("text")) for part in parts if part.get("type") == "text"]
            choice.texts = ["\n".join(texts)]
        return choice.text

    def _note_usage(self, usage: object) -> None:
        self.usage = Usage.from_dict(usage) or self.usage


class StreamGatherer:
    """Gathers an answer that is streamed in events."""

    def __init__(self) -> None:
        self.answer = GatheredAnswer()
        self._events = EventReader()

    def feed(self, chunk: bytes) -> str:
        """Add bytes of the stream; returns the first choice's new text."""
        return "".join(self._taken(data) for data in self._events.feed(chunk))

    def close(self) -> str:
        """End the stream; returns the first choice's new text."""
        return "".join(self._taken(data) for data in self._events.close())

    def _taken(self, data: bytes) -> str:
        if data.strip() == b"[DONE]":
            self.answer.is_whole = True
            return ""
        return self.answer.take(_parsed(data))


class BodyGatherer:
    """Gathers an answer that is sent as one body."""

    def __init__(self) -> None:
        self.answer = GatheredAnswer()
        self._body = bytearray()

    def feed(self, chunk: bytes) -> str:
        """Add bytes of the body; returns no text, since that needs the whole body."""
        if len(self._body) <= LARGEST_BODY:
            self._body += chunk
        return ""

    def close(self) -> str:
        """End the body; returns the first choice's text."""
        if len(self._body) > LARGEST_BODY:
            return ""
        return self.answer.take(_parsed(bytes(self._body)))


def _chat_said(choice: Choice, said: Mapping[str, Any]) -> str:
    thought = said.get("reasoning_content") or said.get("reasoning")
    if isinstance(thought, str):
        choice.thoughts.append(thought)
    text = "".join(
        text_in(part.get("text"))
        for key in ("content", "refusal")
        for part in content_parts(said.get(key))
    )
    choice.texts.append(text)
    calls = said.get("tool_calls")
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, Mapping):
            _add_call(choice, position, call)
    return text


def _add_call(choice: Choice, position: int, call: Mapping[str, Any]) -> None:
    number = call.get("index", position)
    known = choice.call(number if isinstance(number, int) else position)
    made = call.get("function") or call.get("custom")
    made = made if isinstance(made, Mapping) else {}
    known.id = known.id or text_in(call.get("id"))
    known.name = known.name or text_in(made.get("name"))
    known.arguments.append(text_in(made.get("arguments", made.get("input"))))


def _parts(content: str | tuple[Part, ...]) -> Iterator[Part]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from content


def _parsed(data: bytes) -> object:
    if has_more_values(data, MAX_ANSWER_VALUES):
        return None
    try:
        return read_value(data)
    except (ValueError, RecursionError):
        return None


def _words(error: object) -> str:
    found = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
    return str(found or "")[:1000]
