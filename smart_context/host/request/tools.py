"""Tools that a model may use while it answers, and what becomes of each call.

Plugins put them into `turn.tools` at `pipeline.prompt`. Whatever a model asks for, it gets an
answer: an unknown tool, arguments that can't be read and a refusal are results as well.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from weakref import WeakSet

from smart_context.errors import ModelFailed, SmartContextError
from smart_context.host.request.tool_arguments import (
    MAX_CHARACTERS,
    ArgumentsInvalid,
    check_arguments,
    read_arguments,
)
from smart_context.llm.models import ChatModel, ToolCall
from smart_context.values import JsonObject

TOOL_TIMEOUT_S = 60.0
MAX_RESULT_CHARACTERS = 100_000
"""Most of one result; more would fill the window of most models."""

_REFUSING = frozenset({400, 404, 422, 501})
_NAMES_TOOLS = re.compile(r"\btools?(?:\b|_)|\bfunction[_ -]?call", re.IGNORECASE)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a model can ask for.

    Attributes:
        name: Letters, digits and `_`.
        description: What it does, for the model.
        parameters: JSON Schema of an object, of which `tool_arguments` says what is checked. Its
            first property is the one that a request in plain text means.
        run: Gets the checked arguments and gives the result. What it raises of
            `SmartContextError` is told to the model; other failures are logged.
    """

    name: str
    description: str
    parameters: JsonObject
    run: Callable[[JsonObject], Awaitable[str]]

    def schema(self) -> JsonObject:
        """The tool as a request names it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }


class ToolSupport:
    """Which models have said that they take no tools; they are asked for plain text instead."""

    def __init__(self) -> None:
        self._refusing: WeakSet[ChatModel] = WeakSet()

    def is_refused_by(self, model: ChatModel) -> bool:
        """Whether the model has refused a request because of its tools."""
        return model in self._refusing

    def note(self, model: ChatModel, failure: ModelFailed) -> bool:
        """Whether a failure says that tools are not taken; then it is remembered."""
        names_tools = failure.status in _REFUSING and bool(_NAMES_TOOLS.search(str(failure)))
        if names_tools:
            self._refusing.add(model)
            _logger.info("%s takes no tools; files are asked for in plain text", model.name)
        return names_tools


async def answered(call: ToolCall, tools: Sequence[Tool]) -> JsonObject:
    """What a call came to, as a part of the answer's message; never raises for a bad call."""
    arguments: JsonObject | str = call.arguments[:MAX_CHARACTERS]
    try:
        tool = _named(call.name, tools)
        arguments = read_arguments(call.arguments)
        _check(arguments, tool)
        async with asyncio.timeout(TOOL_TIMEOUT_S):
            result = await tool.run(arguments)
        state = "result"
    except (SmartContextError, ArgumentsInvalid, _UnknownTool) as error:
        state, result = "error", str(error)
    except TimeoutError:
        state, result = "error", f"{call.name} took longer than {TOOL_TIMEOUT_S:g} s."
    except Exception:
        _logger.exception("the tool %s failed", call.name)
        state, result = "error", f"{call.name} failed unexpectedly."
    return part_of(call, state, arguments, result)


def part_of(call: ToolCall, state: str, arguments: JsonObject | str, result: str) -> JsonObject:
    """A call and its result as they are stored."""
    if len(result) > MAX_RESULT_CHARACTERS:
        result = f"{result[:MAX_RESULT_CHARACTERS]}\n[Cut: the result is longer.]"
    part = {
        "type": "tool_call",
        "state": state,
        "tool_call_id": call.id,
        "tool_name": call.name,
        "args": arguments,
        "result": result,
    }
    # Halves of characters can't be stored, and models do write them.
    text = json.dumps(part, ensure_ascii=False).encode("utf-16", "surrogatepass")
    whole: JsonObject = json.loads(text.decode("utf-16", "replace"))
    return whole


class _UnknownTool(Exception):
    """A call of a tool that there isn't; says which there are."""


def _named(name: str, tools: Sequence[Tool]) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    known = ", ".join(tool.name for tool in tools)
    raise _UnknownTool(f"There is no tool {name!r}; there are: {known or 'none'}.")


def _check(arguments: JsonObject, tool: Tool) -> None:
    try:
        check_arguments(arguments, tool.parameters)
    except ArgumentsInvalid as error:
        raise ArgumentsInvalid(f"{tool.name} was called wrongly: {error}.") from error
