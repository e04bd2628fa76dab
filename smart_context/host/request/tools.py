"""Tools that a model may use while it answers, and the results of its calls.

Plugins add tools to `turn.tools` at `pipeline.prompt`. Every call gets a result; for an unknown
tool, bad arguments or a failure it is an error text for the model.
"""

import asyncio
import json
import logging
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from weakref import WeakSet

from smart_context.base.errors import ModelFailed, SmartContextError
from smart_context.base.text.names import storable
from smart_context.base.values import JsonObject
from smart_context.host.tasks import was_cancelled
from smart_context.llm.models import ChatModel, ToolCall

Schema = Mapping[str, Any]

MAX_CHARACTERS = 200_000
"""Most characters of the arguments of one call."""

MAX_DEPTH = 32
"""Most levels of nested lists and objects."""

_MOST_FAULTS = 8
_LONGEST_SHOWN = 40
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


class ArgumentsInvalid(ValueError):
    """Arguments that a tool can't be called with; the message is for the model."""


def read_arguments(text: str) -> JsonObject:
    """Parse the arguments as a model wrote them; no schema is checked.

    Raises:
        ArgumentsInvalid: If they are not a JSON object, too large, or nested too deeply.
    """
    if len(text) > MAX_CHARACTERS:
        raise ArgumentsInvalid(
            f"The arguments have {len(text):,} characters; at most {MAX_CHARACTERS:,} are taken."
        )
    try:
        value = json.loads(text, parse_constant=_refuse) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ArgumentsInvalid(f"The arguments are not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ArgumentsInvalid("The arguments are not a JSON object.")
    if _is_deeper(value, MAX_DEPTH):
        raise ArgumentsInvalid(f"The arguments are nested more than {MAX_DEPTH} levels deep.")
    return value


def check_arguments(arguments: JsonObject, schema: Schema) -> None:
    """Check arguments against a schema; unknown keys are faults.

    Raises:
        ArgumentsInvalid: With the first faults and their places, such as `lines[2].to`.
    """
    declared = {"properties": {}, "additionalProperties": False, **schema, "type": "object"}
    faults = list(islice(_faults(arguments, declared, ""), _MOST_FAULTS + 1))
    if len(faults) > _MOST_FAULTS:
        faults[_MOST_FAULTS:] = ["and more"]
    if faults:
        raise ArgumentsInvalid("; ".join(faults))


def _faults(value: object, schema: Schema, place: str) -> Iterator[str]:
    where = place or "the arguments"
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_is_of_kind(value, kind) for kind in kinds):
        yield f"{where}: expected {' or '.join(kinds)}, found {_shown(value)}"
        return
    allowed = schema.get("enum")
    if allowed is not None and not any(_is_same(value, one) for one in allowed):
        yield f"{where}: expected one of {_shown(list(allowed), 400)}, found {_shown(value)}"
    if isinstance(value, dict):
        yield from _faults_of_object(value, schema, f"{place}." if place else "")
    elif isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
        for number, entry in enumerate(value):
            yield from _faults(entry, items, f"{place}[{number}]")


def _faults_of_object(value: JsonObject, schema: Schema, prefix: str) -> Iterator[str]:
    known: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties", "properties" not in schema)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{prefix}{name}: missing"
    for name, entry in value.items():
        if name in known:
            yield from _faults(entry, known[name], f"{prefix}{name}")
        elif isinstance(others, Mapping):
            yield from _faults(entry, others, f"{prefix}{name}")
        elif not others:
            names = ", ".join(known) or "none"
            yield f"{prefix}{name[:_LONGEST_SHOWN]}: unknown; known are: {names}"


def _is_of_kind(value: object, kind: str) -> bool:
    """True if a value is of a kind; booleans are not numbers, and numbers are finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _KINDS.get(kind, object)) and (
        not isinstance(value, bool) or kind not in {"integer", "number"}
    )


def _is_same(value: object, other: object) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _shown(value: object, longest: int = _LONGEST_SHOWN) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[:longest]}…"


def _is_deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            entry
            for holder in level
            if isinstance(holder, list | dict)
            for entry in (holder if isinstance(holder, list) else holder.values())
        ]
    return any(isinstance(entry, list | dict) for entry in level)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


TOOL_TIMEOUT_S = 60.0
MAX_RESULT_CHARACTERS = 100_000
"""Most characters of one result; more would fill the window of most models."""

_REFUSING = frozenset({400, 404, 422, 501})
_NAMES_TOOLS = re.compile(r"\btools?(?:\b|_)|\bfunction[_ -]?call", re.IGNORECASE)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a model can call."""

    name: str  # letters, digits and `_`
    description: str  # what it does, for the model
    # JSON Schema of an object; `tool_arguments` lists what is checked. In plain text, a line of a
    # request is the first property.
    parameters: JsonObject
    # returns the result for checked arguments. The model is told the message of a
    # `SmartContextError`; other failures are logged.
    run: Callable[[JsonObject], Awaitable[str]]

    def schema(self) -> JsonObject:
        """The tool as it goes with a request."""
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
    except (SmartContextError, ArgumentsInvalid, _UnknownTool) as error:
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


class _UnknownTool(Exception):
    """A call of an unknown tool; the message lists the known ones."""


def _named(name: str, tools: Sequence[Tool]) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    known = ", ".join(tool.name for tool in tools)
    raise _UnknownTool(f"Tool {name!r} not found; the tools are: {known or 'none'}.")


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
