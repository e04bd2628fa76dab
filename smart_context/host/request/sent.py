"""A request's body as the endpoint gets it, and what its tools and images add to it.

Previews, receipts and the token counts all take both from here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.host.request.fenced_tools import with_instructions
from smart_context.host.request.prompt import image_notice, is_image, shows_files
from smart_context.host.request.request import Request
from smart_context.host.request.tokens import texts_of

LISTS = ("messages", "input")
"""The fields that can hold a request's messages: of chat completions, and of responses."""


def request_body(
    parameters: Mapping[str, Any], messages: Sequence[Any], list_name: str = "messages"
) -> JsonObject:
    """The whole body: the model, the messages, then all other fields.

    Args:
        parameters: All fields but the list of messages.
        list_name: The list's field.
    """
    model = {"model": parameters["model"]} if "model" in parameters else {}
    return {**model, list_name: list(messages), **parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTexts:
    """What tools and images add to a request, as texts whose tokens can be counted."""

    tools: str = ""  # the schemas, or their part of the system prompt; empty without tools
    steps: tuple[str, ...] = ()  # what the model said and did in this turn so far, with the results
    # other texts that every message goes with: instructions, the answer's schema
    system: tuple[str, ...] = ()
    image_notices: tuple[str, ...] = ()  # what names the attached images that the model isn't shown
    images: int = 0  # the number of images that it is shown


NOTHING_ADDED = AddedTexts()


def added_by_client(fields: Mapping[str, Any], own_system: str = "") -> AddedTexts:
    """What the fields of another program's request add to its messages.

    Args:
        fields: All fields but the list of messages or items.
        own_system: What we put at the end of its instructions.
    """
    tools = [*_list(fields.get("tools")), *_list(fields.get("functions"))]
    instructions = fields.get("instructions")
    system = instructions.removesuffix(own_system) if isinstance(instructions, str) else ""
    schema = next(filter(None, map(_schema_of, (fields, fields.get("text")))), None)
    texts = (system.strip(), schemas_text([schema]) if schema else "")
    return AddedTexts(tools=schemas_text(tools), system=tuple(filter(None, texts)))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _schema_of(holder: Any) -> Any:
    """The schema of the answer: in chat completions, or in `text` of responses."""
    names = ("response_format", "format")
    found = (holder.get(name) for name in names) if isinstance(holder, Mapping) else ()
    wanted = (f for f in found if isinstance(f, Mapping) and f.get("type") == "json_schema")
    return next(wanted, None)


def added_texts(request: Request) -> AddedTexts:
    """What tools and images add to a request of ours; nothing to a client's."""
    if request.is_of_client:
        return NOTHING_ADDED
    images = [file for file in _files_of(request) if is_image(file)]
    shown = [file for file in images if file.get("storage_key") in request.images]
    return AddedTexts(
        tools=_tools_text(request),
        steps=_step_texts(request),
        image_notices=tuple(image_notice(file) for file in images if file not in shown),
        images=len(shown),
    )


def schemas_text(schemas: Sequence[Any]) -> str:
    """The tools of a body as JSON; empty if there are none."""
    return json.dumps(schemas, ensure_ascii=False) if schemas else ""


def _files_of(request: Request) -> Iterator[Mapping[str, Any]]:
    """The files whose images a request shows or names."""
    for message in request.history:
        if message.files and shows_files(message):
            yield from message.files
    yield from request.files


def _step_texts(request: Request) -> tuple[str, ...]:
    if not request.steps:
        return ()
    before = len(replace(request, steps=()).messages())
    return tuple(text for message in request.messages()[before:] for text in texts_of(message))


def _tools_text(request: Request) -> str:
    if not request.tools:
        return ""
    if not request.as_text:
        return schemas_text(request.offered())
    before = request.system_prompt.rstrip()
    return with_instructions(request.system_prompt, request.tools).removeprefix(before).strip()
