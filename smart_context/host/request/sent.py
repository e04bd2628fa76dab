"""A request's body as the endpoint gets it, and what its tools add to it.

Previews, receipts and the token counts all take both from here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.host.request.fenced_tools import with_instructions
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
        messages: The messages or items.
        list_name: The list's field.
    """
    model = {"model": parameters["model"]} if "model" in parameters else {}
    return {**model, list_name: list(messages), **parameters}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTexts:
    """What tools add to a request, as texts whose tokens can be counted.

    Attributes:
        tools: The schemas, or their part of the system prompt; empty without tools.
        steps: What the model said and did in this turn so far, with the results.
    """

    tools: str = ""
    steps: tuple[str, ...] = ()


NOTHING_ADDED = AddedTexts()


def added_texts(request: Request) -> AddedTexts:
    """What tools add to a request of ours; nothing to a client's."""
    if request.is_of_client:
        return NOTHING_ADDED
    return AddedTexts(tools=_tools_text(request), steps=_step_texts(request))


def schemas_text(schemas: Sequence[Any]) -> str:
    """The tools of a body as JSON; empty if there are none."""
    return json.dumps(schemas, ensure_ascii=False) if schemas else ""


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
