"""Arguments of tools as models write them, read and checked against a schema."""

import json
import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from smart_context.base.json_limits import is_nested_deeper
from smart_context.base.values import JsonObject

Schema = Mapping[str, Any]

MAX_CHARACTERS = 200_000
"""The maximum characters of the arguments of one call."""

MAX_DEPTH = 32
"""The maximum levels of nested lists and objects."""

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
    """Parse the arguments as a model wrote them, without checking a schema.

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
