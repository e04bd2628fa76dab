"""Tools that a model may use while it answers, and the results of its calls.

Plugins add tools to `turn.tools` at `pipeline.prompt`. Every call gets a result; for an unknown
tool, bad arguments or a failure it is an error text for the model.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from weakref import WeakSet

from smart_context.base.errors import CommandFailed, ModelFailed, SmartContextError
from smart_context.base.text.names import storable
from smart_context.base.values import JsonObject
from smart_context.host.request.tool_arguments import (
    MAX_CHARACTERS,
    ArgumentsInvalid,
    check_arguments,
    read_arguments,
)
from smart_context.host.tasks import was_cancelled
from smart_context.llm.models import ChatModel, ToolCall

TOOL_TIMEOUT_S = 60.0
MAX_RESULT_CHARACTERS = 100_000
"""The maximum characters of one result; more would fill the window of most models."""

_REFUSING = frozenset({400, 404, 422, 501})
_NAMES_TOOLS = re.compile(r"\btools?(?:\b|_)|\bfunction[_ -]?call", re.IGNORECASE)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a model can call."""

    name: str  # letters, digits and `_`
    description: str  # a description of the tool, for the model
    # JSON Schema of an object; `tool_arguments` lists the checked keywords. In plain text, a line
    # of a request is the first property.
    parameters: JsonObject
    # returns the result for checked arguments. The model is told the message of a
    # `SmartContextError`; other failures are logged.
    run: Callable[[JsonObject], Awaitable[str]]

    def schema(self) -> JsonObject:
        """The tool in the form for a request."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }


class ToolSupport:
    """Remembers which models refuse tools; these get the tools in plain text."""

    def __init__(self) -> None:
        self._refusing: WeakSet[ChatModel] = WeakSet()

    def is_refused_by(self, model: ChatModel) -> bool:
        """True if the model has refused a request because of its tools."""
        return model in self._refusing

    def note(self, model: ChatModel, failure: ModelFailed) -> bool:
        """Remember a model whose failure says that it takes no tools; returns True if so."""
        names_tools = failure.status in _REFUSING and bool(_NAMES_TOOLS.search(str(failure)))
        if names_tools:
            self._refusing.add(model)
            _logger.info("%s takes no tools; they are described in plain text", model.name)
        return names_tools


async def answered(call: ToolCall, tools: Sequence[Tool]) -> JsonObject:
    """Run a call; its result or error is a part of the answer's message."""
    arguments: JsonObject | str = call.arguments[:MAX_CHARACTERS]
    try:
        tool = _named(call.name, tools)
        arguments = read_arguments(call.arguments)
        _check(arguments, tool)
        async with asyncio.timeout(TOOL_TIMEOUT_S):
            result = _text_of(await tool.run(arguments))
        state = "result"
    except (SmartContextError, ArgumentsInvalid) as error:
        state, result = "error", str(error)
    except asyncio.CancelledError:
        if was_cancelled():
            raise
        state, result = "error", f"{call.name} was interrupted."
    except TimeoutError:
        state, result = "error", f"{call.name} took longer than {TOOL_TIMEOUT_S:g} s."
    except Exception:
        _logger.exception("the tool %s failed", call.name)
        state, result = "error", f"{call.name} failed unexpectedly."
    return part_of(call, state, arguments, result)


def part_of(call: ToolCall, state: str, arguments: JsonObject | str, result: str) -> JsonObject:
    """A call and its result, as stored."""
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
    # Models write lone surrogates, which can't be stored.
    whole: JsonObject = json.loads(storable(json.dumps(part, ensure_ascii=False)))
    return whole


def _named(name: str, tools: Sequence[Tool]) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    known = ", ".join(tool.name for tool in tools)
    raise CommandFailed(f"Tool {name!r} not found; the tools are: {known or 'none'}.")


def _text_of(result: object) -> str:
    """The result of a plugin's tool, which type checkers may not have seen."""
    if not isinstance(result, str):
        raise TypeError(f"expected a str as the tool's result, found {type(result).__name__}")
    return result


def _check(arguments: JsonObject, tool: Tool) -> None:
    try:
        check_arguments(arguments, tool.parameters)
    except ArgumentsInvalid as error:
        raise ArgumentsInvalid(f"{tool.name} was called wrongly: {error}.") from error
