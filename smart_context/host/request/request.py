"""A request to a model, in its parts and as a body; turns, previews and replays all send this."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.messages import Message, MessageId, Part
from smart_context.host.request.fenced_tools import in_plain_text, with_instructions
from smart_context.host.request.prompt import (
    is_image,
    prompt_messages,
    shows_files,
    with_notices,
    with_system,
)
from smart_context.host.request.speaking_order import SpeakingOrder, in_order
from smart_context.host.request.tokens import PER_IMAGE, system_tokens, texts_of
from smart_context.host.request.tools import Tool
from smart_context.llm.models import PromptMessage


@dataclass(frozen=True, kw_only=True)  # without slots, for `_messages`
class Request:
    """A request to a model, in its parts."""

    message: str  # the user's message
    system_prompt: str = ""  # blank: no system message is sent
    history: tuple[Message, ...] = ()  # the messages before this one, oldest first
    files: tuple[Mapping[str, Any], ...] = ()  # the files attached to the message
    # the attached images that the model is shown, as data URIs by storage key
    images: Mapping[str, str] = field(default_factory=dict)
    # the model's texts, and tool calls with results, in this turn so far
    steps: tuple[Part, ...] = ()
    newest_step: int = 0  # index of the newest round of tool calls in `steps`
    tools: tuple[Tool, ...] = ()  # the tools that the model may call
    # True to describe the tools in the system prompt, and give calls and results as text
    as_text: bool = False
    order: SpeakingOrder = SpeakingOrder.ANY  # the order that the endpoint needs
    has_tools_behind: bool = False  # True if the model reads the tools after the system prompt
    protected: frozenset[MessageId] = frozenset()  # messages of the history that are left out last
    optional_prompt: str = ""  # a part of the system prompt, word for word, that may be left out
    attached_text: str = ""  # a part of the message, word for word: the attached texts
    # True for the request of another program, whose own system message comes first
    is_of_client: bool = False
    # the tokens of other parts of another program's request, such as its tools and calls
    beside: int = 0

    def messages(self) -> tuple[PromptMessage, ...]:
        """The messages to send, in plain text for a model that takes no tools; not to be changed.

        They are built once: of a long chat that takes milliseconds.
        """
        return self._messages

    @cached_property
    def _messages(self) -> tuple[PromptMessage, ...]:
        if self.is_of_client:
            theirs = prompt_messages("", self.history, self.message)
            return in_order(with_system(theirs, self.system_prompt), self.order)
        system = self.system_prompt
        prompt = prompt_messages(
            with_instructions(system, self.tools) if self.as_text else system,
            self.history,
            self.message,
            files=self.files,
            images=self.images,
            steps=self.steps,
        )
        return in_order(in_plain_text(prompt) if self.as_text else prompt, self.order)

    def offered(self) -> tuple[dict[str, object], ...]:
        """The schemas of the tools to send; none with `as_text`."""
        return () if self.as_text else tuple(tool.schema() for tool in self.tools)


def attached_to(sent: Message, written: str) -> str:
    """The attached texts after the user's own text; empty if there are none."""
    return sent.text.removeprefix(written).strip() if sent.text.startswith(written) else ""


LISTS = ("messages", "input")
"""The fields that can hold a request's messages: of chat completions, and of responses."""


def request_body(
    parameters: Mapping[str, Any], messages: Sequence[Any], list_name: str = "messages"
) -> JsonObject:
    """The whole body: the model, the messages, then all other fields.

    Args:
        parameters: All fields but the list of messages.
    """
    model = {"model": parameters["model"]} if "model" in parameters else {}
    return {**model, list_name: list(messages), **parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTexts:
    """The additions of tools and images to a request, as texts whose tokens can be counted."""

    tools: str = ""  # the schemas; empty without tools, or if these are in the system prompt
    tools_are_behind: bool = False  # True if the model reads the schemas after the system prompt
    tools_prompt: str = ""  # the description of tools in the system prompt instead
    steps: tuple[str, ...] = ()  # the model's texts, calls and results in this turn so far
    before: str = ""  # another program's instructions, before ours
    schema: str = ""  # the schema of the answer
    # texts of messages, each without and with notices for images that the model isn't shown
    noted: tuple[tuple[str, str], ...] = ()
    images: int = 0  # the number of images that the model is shown

    def tokens_beside(self, count_tokens: CountTokens) -> int:
        """The tokens of a request that are not in the texts of its messages."""
        texts = self.tools, self.schema
        before = system_tokens(self.before, count_tokens)
        return PER_IMAGE * self.images + before + sum(count_tokens(text) for text in texts if text)


NOTHING_ADDED = AddedTexts()


def added_by_client(fields: Mapping[str, Any], own_system: str = "") -> AddedTexts:
    """The additions of another program's fields to its messages.

    Args:
        fields: All fields except the list of messages or items.
        own_system: The text that we put at the end of its instructions.
    """
    tools = [*_list(fields.get("tools")), *_list(fields.get("functions"))]
    instructions = fields.get("instructions")
    before = instructions.removesuffix(own_system) if isinstance(instructions, str) else ""
    schema = next(filter(None, map(_schema_of, (fields, fields.get("text")))), None)
    return AddedTexts(
        tools=schemas_text(tools),
        before=before.strip(),
        schema=json.dumps(schema, ensure_ascii=False) if schema else "",
    )


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _schema_of(holder: Any) -> Any:
    """The schema of the answer: in chat completions, or in `text` of responses."""
    names = ("response_format", "format")
    found = (holder.get(name) for name in names) if isinstance(holder, Mapping) else ()
    wanted = (f for f in found if isinstance(f, Mapping) and f.get("type") == "json_schema")
    return next(wanted, None)


def added_texts(request: Request) -> AddedTexts:
    """The additions of tools and images to a request of ours; none to a client's."""
    if request.is_of_client:
        return NOTHING_ADDED
    said = [*_with_files(request)]
    images = [file for _, files in said for file in files if is_image(file)]
    named = ((with_notices(t, ()), with_notices(t, f, request.images)) for t, f in said)
    return AddedTexts(
        tools=schemas_text(request.offered()),
        tools_are_behind=request.has_tools_behind,
        tools_prompt=_tools_prompt(request),
        steps=_step_texts(request),
        noted=tuple((before, after) for before, after in named if before != after),
        images=sum(file.get("storage_key") in request.images for file in images),
    )


def schemas_text(schemas: Sequence[Any]) -> str:
    """The tools of a body as JSON; empty if there are none."""
    return json.dumps(schemas, ensure_ascii=False) if schemas else ""


def _with_files(request: Request) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """The texts of messages whose images a request shows or names, with their files."""
    for message in request.history:
        if message.files and shows_files(message):
            yield message.text, message.files
    if request.files:
        yield request.message, request.files


def _step_texts(request: Request) -> tuple[str, ...]:
    if not request.steps:
        return ()
    before = len(replace(request, steps=()).messages())
    return tuple(text for message in request.messages()[before:] for text in texts_of(message))


def _tools_prompt(request: Request) -> str:
    if not (request.tools and request.as_text):
        return ""
    before = request.system_prompt.rstrip()
    return with_instructions(request.system_prompt, request.tools).removeprefix(before).strip()
