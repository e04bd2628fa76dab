"""The parameters of a command: read from its handler's signature, and checked."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic.errors import PydanticSchemaGenerationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from smart_context.base.errors import InvalidParams
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, MessageId
from smart_context.host.access import CHATS_BY_NAME, NamesOwned, OwnedName

_MAX_FAULTS = 20
_PLAIN_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_PLAIN_TYPES = frozenset({Any, NoneType, bool, float, int, str, ChatId, MessageId})
_PLAIN_GROUPS = frozenset({Union, UnionType, dict, list})


class _Checker:
    """Checks parameters of a shape by an adapter, which is made when it is first needed.

    Making an adapter takes half a millisecond, and of more than a hundred commands few are used.
    """

    def __init__(self, shape: tuple[tuple[str, Any], ...], *, takes_extra: bool) -> None:
        self._shape = dict(shape)
        self._config = ConfigDict(
            strict=True, extra="allow" if takes_extra else "forbid", arbitrary_types_allowed=False
        )

    @cached_property
    def adapter(self) -> TypeAdapter[dict[str, Any]]:
        # Built at run time from a signature; type checkers can't follow that.
        params: Any = with_config(self._config)(TypedDict("Params", self._shape))  # type: ignore[operator]
        return TypeAdapter(params)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameters:
    """The parameters of one command."""

    names: frozenset[str]  # all parameters except the caller
    caller_name: str  # the parameter that gets the caller; empty if there is none
    naming: Mapping[str, NamesOwned]  # the parameters that name something owned
    chats: Sequence[str]  # the parameters that are annotated as ids of chats
    _checker: _Checker
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
            checker = _checker(tuple(fields.items()), takes_extra=takes_extra)
            if not all(_is_plain(hints.get(name, Any)) for name in fields):
                _ = checker.adapter  # so that a type that can't be checked fails now
        except (PydanticSchemaGenerationError, TypeError) as error:
            raise TypeError(f"{handler!r}: a parameter's type can't be checked: {error}") from error
        return cls(
            names=frozenset(fields),
            caller_name=caller_name,
            naming={name: found for name in fields if (found := _naming(name, hints.get(name)))},
            chats=[name for name in fields if _is_chat(hints.get(name))],
            _checker=checker,
            _defaults=defaults,
        )

    def check(self, command: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters to call the handler with, without those that were left out.

        Raises:
            InvalidParams: Naming each parameter that is missing, unknown or ill-typed. Values
                are not shown.
        """
        try:
            return self._checker.adapter.validate_python(dict(params))
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            faults = [_fault(detail) for detail in found[:_MAX_FAULTS]]
            if len(found) > _MAX_FAULTS:
                faults.append(f"and {len(found) - _MAX_FAULTS} more")
            raise InvalidParams(f"{command}: {'; '.join(faults)}") from error

    def owned(self, given: Mapping[str, Any]) -> Iterable[OwnedName]:
        """The owned things that checked parameters name."""
        for name, naming in self.naming.items():
            if given.get(name) is not None:
                yield from naming.owned(given[name])

    def check_chats(self, given: Mapping[str, Any]) -> None:
        """Refuse malformed ids of chats.

        Raises:
            ChatIdInvalid: If a parameter that is annotated `ChatId` has another form.
        """
        for found in map(given.get, self.chats):
            for chat_id in found if isinstance(found, list) else [found]:
                if chat_id is not None:
                    check_chat_id(chat_id)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters, with defaults."""
        schema = self._checker.adapter.json_schema()
        schema.pop("title", None)
        for name, default in self._defaults.items():
            if default is None or isinstance(default, bool | int | float | str):
                schema["properties"][name]["default"] = default
        return schema


def _naming(name: str, hint: object) -> NamesOwned | None:
    """The mark of a parameter that names something owned, from its annotation or its name."""
    if get_origin(hint) is Annotated:
        marks = [mark for mark in get_args(hint) if isinstance(mark, NamesOwned)]
        return marks[0] if marks else CHATS_BY_NAME.get(name)
    parts = (_naming("", part) for part in get_args(hint))
    return next((found for found in parts if found), CHATS_BY_NAME.get(name))


def _is_chat(hint: object) -> bool:
    """True for the type of a chat's id, and for types that contain it."""
    return hint is ChatId or any(map(_is_chat, get_args(hint)))


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


def _is_plain(hint: Any) -> bool:
    """True if a type is surely one that can be checked, so no adapter is needed to find out."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return all(map(_only_tells, parts[1:])) and _is_plain(parts[0])
    if origin in _PLAIN_GROUPS:
        return all(map(_is_plain, parts))
    return origin is Literal or (origin is None and hint in _PLAIN_TYPES)


def _only_tells(mark: object) -> bool:
    """True if an annotation only describes a type, and adds no check to it."""
    if isinstance(mark, FieldInfo):
        return not mark.metadata and mark.discriminator is None
    return isinstance(mark, NamesOwned)


@lru_cache(maxsize=256)
def _checker(shape: tuple[tuple[str, Any], ...], *, takes_extra: bool) -> _Checker:
    """The checker that all commands with the same parameters share."""
    return _Checker(shape, takes_extra=takes_extra)


def _fault(detail: ErrorDetails) -> str:
    where = ".".join(str(step) for step in detail["loc"]) or "parameters"
    if detail["type"] == "missing":
        return f"{where}: missing"
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown parameter"
    return f"{where}: {detail['msg'].replace('Input should be', 'expected')}"
