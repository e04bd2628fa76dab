"""Tools that a model may use while it answers, and the results of its calls.

Plugins add tools to `turn.tools` at `pipeline.prompt`. Every call gets a result; for an unknown
tool, bad arguments or a failure it is an error text for the model.
"""

import asyncio
import json
import logging
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from weakref import WeakSet

from smart_context.base.errors import CommandFailed, ModelFailed, SmartContextError
from smart_context.base.json_limits import is_nested_deeper
from smart_context.base.text.names import storable
from smart_context.base.values import JsonObject
from smart_context.host.tasks import was_cancelled
from smart_context.llm.models import ChatModel, PromptMessage, ToolCall

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
    if is_nested_deeper(text, MAX_DEPTH):
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


# For endpoints that take no tools: the model writes a fenced block named like the tool, with one
# request per line (```read_file, notes/plan.md, ```), or the arguments as a JSON object.
_INTRODUCTION = """\
# Requests

When you need more to answer, write one or more of the fenced blocks below and nothing after them; \
the results come with the next message. One request a line, or a JSON object with the parameters. \
Write such a block for nothing else."""

_OPENING = re.compile(r" {0,3}(`{3,}+|~{3,}+)[ \t]*+(\S*+)[ \t]*+")
_BACKTICKS = re.compile("`+")
_SHORTEST_FENCE = 3


def with_instructions(system_prompt: str, tools: Sequence[Tool]) -> str:
    """The system prompt, with instructions for calling the tools."""
    if not tools:
        return system_prompt
    forms = [f"{tool.description}\n\n```{tool.name}\n<{_primary(tool)}>\n```" for tool in tools]
    text = "\n\n".join([_INTRODUCTION, *forms])
    return f"{system_prompt.rstrip()}\n\n{text}" if system_prompt.strip() else text


def requests_in(text: str, tools: Sequence[Tool]) -> tuple[str, list[tuple[str, str]]]:
    """Split a text from its requests, each a tool's name and its JSON arguments.

    An unclosed block ends with the text. Blocks of other names stay in the text, with all that
    is inside.
    """
    named = {tool.name: tool for tool in tools}
    kept: list[str] = []
    requests: list[tuple[str, str]] = []
    lines = iter(text.split("\n"))
    for line in lines:
        opening = _opening(line)
        block = [] if opening is None else _block(lines, opening[1])
        tool = named.get(opening[2]) if opening else None
        if tool is None:
            kept += [line, *block]
        else:
            body = block[:-1] if block and _closes(block[-1], opening[1]) else block  # type: ignore[index] # a tool is only found by an opening
            requests += [(tool.name, arguments) for arguments in _arguments(body, tool)]
    return "\n".join(kept).strip("\n"), requests


def in_plain_text(prompt: Sequence[PromptMessage]) -> tuple[PromptMessage, ...]:
    """The request with calls as fenced blocks, and results as a user message."""
    plain: list[PromptMessage] = []
    results: list[str] = []
    names: dict[str, str] = {}
    for message in chain(prompt, (None,)):
        if message is not None and message["role"] == "tool":
            name = names.get(message["tool_call_id"], "a request")
            results.append(f"Result of {name}:\n{message['content']}")
            continue
        if results:
            plain.append({"role": "user", "content": "\n\n".join(results)})
            results = []
        if message is None:
            break
        calls = message.get("tool_calls", ())
        names.update((call["id"], call["function"]["name"]) for call in calls)
        plain.append(_with_blocks(message, calls) if calls else message)
    return tuple(plain)


def _with_blocks(message: PromptMessage, calls: Iterable[PromptMessage]) -> PromptMessage:
    texts = [message["content"]] if message["content"] else []
    for call in calls:
        arguments = call["function"]["arguments"]
        longest = max(map(len, _BACKTICKS.findall(arguments)), default=0)
        fence = "`" * max(3, longest + 1)
        texts.append(f"{fence}{call['function']['name']}\n{arguments}\n{fence}")
    return {"role": message["role"], "content": "\n\n".join(texts)}


def _opening(line: str) -> re.Match[str] | None:
    """Match the start of a block that has a name, or can hold other blocks."""
    found = _OPENING.fullmatch(line.rstrip("\r"))
    return found if found and (found[2] or len(found[1]) > _SHORTEST_FENCE) else None


def _block(lines: Iterable[str], fence: str) -> list[str]:
    """The lines of a block, including the closing one."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if _closes(line, fence):
            break
    return block


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _arguments(body: Sequence[str], tool: Tool) -> list[str]:
    whole = "\n".join(body).strip()
    if whole.startswith("{") or not whole:
        return [whole or "{}"]
    primary = _primary(tool)
    lines = (line.strip() for line in body)
    return [json.dumps({primary: line}, ensure_ascii=False) for line in lines if line]


def _primary(tool: Tool) -> str:
    return next(iter(tool.parameters.get("properties", {})), "nothing")
