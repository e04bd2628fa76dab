"""Commands: what clients and plugins can call by name, with checked parameters."""

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Protocol,
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

from smart_context.base.asking import asking, one_request, waited_for
from smart_context.base.errors import (
    CommandFailed,
    InvalidParams,
    NameTaken,
    SmartContextError,
    UnknownCommand,
)
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, MessageId
from smart_context.host.access import CHATS_BY_NAME, Access, Names, Owned, check_access
from smart_context.host.events.bus import is_async
from smart_context.host.models import chosen
from smart_context.host.tasks import was_cancelled


def with_stand_ins(
    given: Mapping[str, Any], names: Iterable[str], stand_ins: Mapping[str, str]
) -> dict[str, Any]:
    """The parameters with stand-ins for ids.

    Args:
        names: Those that name something owned.
        stand_ins: What to use for each id.
    """
    return {**given, **{name: _replaced(given[name], stand_ins) for name in names if name in given}}


def put_back(result: Any, stand_ins: Mapping[str, str]) -> Any:
    """A result with the ids that were asked for."""
    return _replaced(result, {stand_in: chat_id for chat_id, stand_in in stand_ins.items()})


def put_back_in_error(error: SmartContextError, stand_ins: Mapping[str, str]) -> None:
    """Let an error name the ids that were asked for."""
    error.args = tuple(put_back(list(error.args), stand_ins))


def _replaced(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in ids.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, Mapping):
        return {_replaced(key, ids): _replaced(each, ids) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(each, ids) for each in value]
    return value


_MAX_FAULTS = 20
_PLAIN_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_PLAIN_TYPES = frozenset({Any, NoneType, bool, float, int, str, ChatId, MessageId})
_PLAIN_GROUPS = frozenset({Union, UnionType, dict, list})


class _Checker:
    """Checks parameters of a shape, by an adapter that is made when it is first needed.

    Making one takes half a millisecond; a server has more than a hundred commands, and uses few.
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

    names: frozenset[str]  # all but the caller's
    caller_name: str  # the parameter that gets the caller; empty if there is none
    naming: Mapping[str, Names]  # the parameters that name something owned
    chats: Sequence[str]  # those that are annotated as ids of chats
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
                _ = checker.adapter  # so that a type that can't be checked is told of now
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

    def owned(self, given: Mapping[str, Any]) -> Iterable[Owned]:
        """The owned things that checked parameters name."""
        for name, naming in self.naming.items():
            if given.get(name) is not None:
                yield from naming.owned(given[name])

    def check_chats(self, given: Mapping[str, Any]) -> None:
        """Refuse what can't be a chat's id.

        Raises:
            ChatIdInvalid: Where a parameter is annotated `ChatId`.
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


def _naming(name: str, hint: object) -> Names | None:
    """What a parameter names: by its annotation or a part of it, or by its name."""
    if get_origin(hint) is Annotated:
        marks = [mark for mark in get_args(hint) if isinstance(mark, Names)]
        return marks[0] if marks else CHATS_BY_NAME.get(name)
    parts = (_naming("", part) for part in get_args(hint))
    return next((found for found in parts if found), CHATS_BY_NAME.get(name))


def _is_chat(hint: object) -> bool:
    """True for the type of a chat's id, or one that it is a part of."""
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
    """Whether a type can be checked for certain."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return all(map(_only_tells, parts[1:])) and _is_plain(parts[0])
    if origin in _PLAIN_GROUPS:
        return all(map(_is_plain, parts))
    return origin is Literal or (origin is None and hint in _PLAIN_TYPES)


def _only_tells(mark: object) -> bool:
    """Whether what a type is annotated with says something, and demands nothing."""
    if isinstance(mark, FieldInfo):
        return not mark.metadata and mark.discriminator is None
    return isinstance(mark, Names)


@lru_cache(maxsize=256)
def _checker(shape: tuple[tuple[str, Any], ...], *, takes_extra: bool) -> _Checker:
    """One for all commands with the same parameters."""
    return _Checker(shape, takes_extra=takes_extra)


def _fault(detail: ErrorDetails) -> str:
    where = ".".join(str(step) for step in detail["loc"]) or "parameters"
    if detail["type"] == "missing":
        return f"{where}: missing"
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown parameter"
    return f"{where}: {detail['msg'].replace('Input should be', 'expected')}"


CommandHandler = Callable[..., Awaitable[Mapping[str, Any] | None]]

_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")

_logger = logging.getLogger(__name__)


class Client(Protocol):
    """One connected page or program."""

    id: str  # names the connection
    person: PersonId  # who it was let in as
    chat_id: ChatId | None  # the chat it opened last; `None` before that

    def send(self, event: str, payload: JsonObject) -> None:
        """Queue an event for this client; never blocks."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for a command; a handler gets it in a parameter annotated `Caller`."""

    person: PersonId  # the person for whom it runs
    # `None` for calls without a connection: HTTP, a plugin, the command line
    client: Client | None = None


def check_owner(person: PersonId) -> None:
    """Refuse anybody but the owner of this installation.

    Raises:
        CommandFailed: For another person.
    """
    if person != OWNER:
        raise CommandFailed("Only the owner of this installation can see or change this.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Command:
    handler: CommandHandler
    parameters: Parameters
    owner: str


class CommandRegistry:
    """The commands, by name.

    Args:
        access: Is asked about everything owned that a command's parameters name.
        model_of: Gives the model that a chat has of its own, which counts for its commands.
    """

    def __init__(
        self, access: Access, model_of: Callable[[str], Awaitable[str]] | None = None
    ) -> None:
        self._access = access
        self._model_of = model_of
        self._commands: dict[str, _Command] = {}

    def register(
        self, name: str, handler: CommandHandler, *, owner: str = ""
    ) -> Callable[[], None]:
        """Make a command callable.

        Args:
            name: `plugin.verb`, in lower-case letters, digits and `_`.
            handler: An async function that returns a JSON object, or nothing for `{}`. Its
                annotated parameters are the command's; one annotated `Caller` is filled in.

        Returns:
            A function that removes the command; calling it again does nothing.

        Raises:
            NameTaken: If a command of that name exists; it stays.
            ValueError: If the name has another form.
            TypeError: If the handler is not async, or its parameters can't be checked.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"expected a command's name such as 'plugin.verb', found {name!r}")
        if not is_async(handler):
            raise TypeError(f"{name}: expected an async function, found {handler!r}")
        if taken := self._commands.get(name):
            raise NameTaken(
                f"the command {name} is registered already by {taken.owner or 'the host'}; "
                f"{owner or 'the newcomer'} needs another name"
            )
        command = _Command(
            handler=handler, parameters=Parameters.of(handler, caller_type=Caller), owner=owner
        )
        self._commands[name] = command
        return lambda: self._drop(name, command)

    def register_all(self, group: str, *handlers: CommandHandler) -> None:
        """Make each handler callable as `group.name`, by its function's name."""
        for handler in handlers:
            self.register(f"{group}.{handler.__name__}", handler)

    async def call(self, name: str, params: Mapping[str, Any], caller: Caller) -> JsonObject:
        """Run a command.

        A `chat_id` that is left out is the chat that the caller's client opened last.

        Raises:
            UnknownCommand: If no command has that name.
            InvalidParams: If parameters are missing, unknown or ill-typed; names each.
            SmartContextError: If the command fails with an error for the user, or a parameter names
                what is not the caller's; then as for an unknown name.
            CommandFailed: If it fails otherwise; the traceback is in the log.
        """
        command = self._commands.get(name)
        if command is None:
            raise UnknownCommand(f"no command {name!r}; system.commands lists all")
        given = command.parameters.check(name, self._with_chat(command, params, caller))
        with asking(caller.person), one_request(), waited_for():
            named = command.parameters.owned(given)
            stand_ins = await check_access(self._access, caller.person, named)
            if stand_ins:
                given = with_stand_ins(given, command.parameters.naming, stand_ins)
            if command.parameters.caller_name:
                given[command.parameters.caller_name] = caller
            try:
                result = _as_object(name, await self._result(name, command, given))
            except SmartContextError as error:
                put_back_in_error(error, stand_ins)
                raise
            return put_back(result, stand_ins) if stand_ins else result

    async def _result(self, name: str, command: _Command, given: Mapping[str, Any]) -> object:
        command.parameters.check_chats(given)
        chat_id = given.get("chat_id")
        own = await self._model_of(chat_id) if self._model_of and isinstance(chat_id, str) else ""
        try:
            with chosen(own):
                return await command.handler(**given)
        except SmartContextError:
            raise
        except asyncio.CancelledError as error:
            if was_cancelled():
                raise
            raise CommandFailed(f"{name} was interrupted; try again") from error
        except Exception as error:
            _logger.exception("the command %s of %s failed", name, command.owner or "the host")
            raise CommandFailed(f"{name} failed unexpectedly; the log says more") from error

    async def list_commands(self) -> JsonObject:
        """List every command with its parameters (JSON Schema)."""
        listed = [
            {
                "name": name,
                "description": (command.handler.__doc__ or "").strip().partition("\n")[0],
                "params": command.parameters.schema(),
                "owner": command.owner,
            }
            for name, command in sorted(self._commands.items())
        ]
        return {"commands": listed}

    def _drop(self, name: str, command: _Command) -> None:
        if self._commands.get(name) is command:
            del self._commands[name]

    @staticmethod
    def _with_chat(
        command: _Command, params: Mapping[str, Any], caller: Caller
    ) -> Mapping[str, Any]:
        open_chat = caller.client.chat_id if caller.client else None
        if open_chat is None or "chat_id" in params or "chat_id" not in command.parameters.names:
            return params
        return {**params, "chat_id": open_chat}


def _as_object(name: str, result: object) -> JsonObject:
    if result is None:
        return {}
    if isinstance(result, Mapping):
        return dict(result)
    _logger.error("%s: expected a JSON object as result, found %s", name, type(result).__name__)
    raise CommandFailed(f"{name} failed: it did not return a JSON object")
