"""Checks a command's parameters against its handler's signature."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from smart_context.base.errors import InvalidParams
from smart_context.host.access import CHATS_BY_NAME, Names, Owned

_MAX_FAULTS = 20
_PLAIN_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameters:
    """The parameters of one command."""

    names: frozenset[str]  # all but the caller's
    caller_name: str  # the parameter that gets the caller; empty if there is none
    naming: Mapping[str, Names]  # the parameters that name something owned
    _adapter: TypeAdapter[dict[str, Any]]
    _defaults: Mapping[str, Any]

    @classmethod
    def of(cls, handler: Callable[..., Any], *, caller_type: type) -> "Parameters":
        """The parameters that a handler's signature declares.

        Types are strict: "1" is not a number and 1 is not a boolean, but an integer is a number.
        A parameter without annotation takes any value. `**extra` allows unknown names.

        Raises:
            TypeError: If a parameter can't be given by name, or its type can't be checked.
        """
        hints = _hints(handler)
        fields: dict[str, Any] = {}
        defaults: dict[str, Any] = {}
        caller_name, takes_extra = "", False
        for name, parameter in inspect.signature(handler).parameters.items():
            hint = hints.get(name, Any)
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                takes_extra = True
            elif parameter.kind not in _PLAIN_KINDS:
                raise TypeError(f"{handler!r}: the parameter {name} can't be given by name")
            elif hint is caller_type:
                caller_name = name
            elif parameter.default is inspect.Parameter.empty:
                fields[name] = Required[hint]
            else:
                fields[name] = NotRequired[hint]
                defaults[name] = parameter.default
        try:
            adapter = _adapter(tuple(fields.items()), takes_extra=takes_extra)
        except (PydanticSchemaGenerationError, TypeError) as error:
            raise TypeError(f"{handler!r}: a parameter's type can't be checked: {error}") from error
        return cls(
            names=frozenset(fields),
            caller_name=caller_name,
            naming={name: found for name in fields if (found := _naming(name, hints.get(name)))},
            _adapter=adapter,
            _defaults=defaults,
        )

    def check(self, command: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters to call the handler with, without those that were left out.

        Raises:
            InvalidParams: Naming each parameter that is missing, unknown or ill-typed. Values
                are not shown.
        """
        try:
            return self._adapter.validate_python(dict(params))
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            faults = [_fault(detail) for detail in found[:_MAX_FAULTS]]
            if len(found) > _MAX_FAULTS:
                faults.append(f"and {len(found) - _MAX_FAULTS} more")
            raise InvalidParams(f"{command}: {'; '.join(faults)}") from error

    def owned(self, given: Mapping[str, Any]) -> Iterable[Owned]:
        """The owned things that checked parameters name."""
        for name, naming in self.naming.items():
            if given.get(name) is not None:
                yield from naming.owned(given[name])

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters, with defaults."""
        schema = self._adapter.json_schema()
        schema.pop("title", None)
        for name, default in self._defaults.items():
            if default is None or isinstance(default, bool | int | float | str):
                schema["properties"][name]["default"] = default
        return schema


def _naming(name: str, hint: object) -> Names | None:
    """What a parameter names: by its annotation or a part of it, or by its name."""
    if get_origin(hint) is Annotated:
        marks = [mark for mark in get_args(hint) if isinstance(mark, Names)]
        return marks[0] if marks else CHATS_BY_NAME.get(name)
    parts = (_naming("", part) for part in get_args(hint))
    return next((found for found in parts if found), CHATS_BY_NAME.get(name))


def _hints(handler: Callable[..., Any]) -> Mapping[str, Any]:
    target = handler
    while hasattr(target, "func"):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(f"{handler!r}: an annotation can't be read: {error}") from error


@lru_cache(maxsize=256)
def _adapter(
    shape: tuple[tuple[str, Any], ...], *, takes_extra: bool
) -> TypeAdapter[dict[str, Any]]:
    """One for all commands with the same parameters: making it takes half a millisecond."""
    config = ConfigDict(
        strict=True, extra="allow" if takes_extra else "forbid", arbitrary_types_allowed=False
    )
    # Built at run time from a signature; type checkers can't follow that.
    params: Any = with_config(config)(TypedDict("Params", dict(shape)))  # type: ignore[operator]
    return TypeAdapter(params)


def _fault(detail: ErrorDetails) -> str:
    where = ".".join(str(step) for step in detail["loc"]) or "parameters"
    if detail["type"] == "missing":
        return f"{where}: missing"
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown parameter"
    return f"{where}: {detail['msg'].replace('Input should be', 'expected')}"
