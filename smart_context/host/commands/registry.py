"""Commands that clients and plugins can call by name, with checked parameters."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from smart_context.base.errors import (
    CommandFailed,
    NameTaken,
    SmartContextError,
    UnknownCommand,
)
from smart_context.base.lookups import one_request
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.base.waiting import waited_for
from smart_context.chat.messages import ChatId
from smart_context.host.access import Access, check_access
from smart_context.host.commands.parameters import Parameters
from smart_context.host.events.bus import is_async
from smart_context.host.models import chosen
from smart_context.host.tasks import was_cancelled

CommandHandler = Callable[..., Awaitable[Mapping[str, Any] | None]]

HandlerOf = Callable[[PersonId], CommandHandler]
"""Gives one person's handler of a command."""

_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")

_logger = logging.getLogger(__name__)


class Client(Protocol):
    """One connected page or program."""

    id: str  # the id of the connection
    person: PersonId  # the person who logged in
    chat_id: ChatId | None  # the chat it opened last; `None` before that

    def send(self, event: str, payload: JsonObject) -> None:
        """Queue an event for this client; never blocks."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a command; a handler gets it in a parameter annotated `Caller`."""

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
    for_person: HandlerOf  # gives a caller's handler, which is `handler` where all have one
    parameters: Parameters
    owner: str


class CommandRegistry:
    """The commands, by name.

    Args:
        access: Decides if the caller may use the owned things that parameters name.
        model_of: Gives a chat's own model, which is used in the chat's commands.
    """

    def __init__(
        self, access: Access, model_of: Callable[[str], Awaitable[str]] | None = None
    ) -> None:
        self._access = access
        self._model_of = model_of
        self._commands: dict[str, _Command] = {}

    def register(
        self,
        name: str,
        handler: CommandHandler,
        *,
        owner: str = "",
        for_person: HandlerOf | None = None,
    ) -> Callable[[], None]:
        """Make a command callable.

        Args:
            name: `plugin.verb`, in lower-case letters, digits and `_`.
            handler: An async function that returns a JSON object, or nothing for `{}`. Its
                annotated parameters are the command's; one annotated `Caller` is filled in.
            for_person: Gives the function that is called for a person, if each has one of their
                own; all have the parameters of `handler`.

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
            handler=handler,
            for_person=for_person or (lambda _person: handler),
            parameters=Parameters.of(handler, caller_type=Caller),
            owner=owner,
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
                something that the caller may not use: then the same error as for an unknown name.
            CommandFailed: If it fails otherwise; the traceback is in the log.
        """
        command = self._commands.get(name)
        if command is None:
            raise UnknownCommand(f"no command {name!r}; system.commands lists all")
        given = command.parameters.check(name, self._with_chat(command, params, caller))
        with one_request(), waited_for():
            named = command.parameters.owned(given)
            placeholders = await check_access(self._access, caller.person, named)
            given = placeholders.put_into(given, command.parameters.naming)
            if command.parameters.caller_name:
                given[command.parameters.caller_name] = caller
            try:
                result = _as_object(name, await self._result(name, command, given, caller))
            except SmartContextError as error:
                placeholders.take_out_of_error(error)
                raise
            return placeholders.take_out(result)

    async def _result(
        self, name: str, command: _Command, given: Mapping[str, Any], caller: Caller
    ) -> object:
        command.parameters.check_chats(given)
        chat_id = given.get("chat_id")
        own = await self._model_of(chat_id) if self._model_of and isinstance(chat_id, str) else ""
        try:
            with chosen(own):
                return await command.for_person(caller.person)(**given)
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
