"""Runs a command for a client, and serialises the outcome for socket and HTTP."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from smart_context.base.errors import (
    ChatIdInvalid,
    InvalidParams,
    PathRefused,
    SmartContextError,
    StorageAway,
    UnknownCommand,
)
from smart_context.host.commands.registry import Caller
from smart_context.web.wire.frames import (
    COMMAND_FAILED,
    INVALID_PARAMS,
    UNKNOWN_COMMAND,
    render_json,
)

_log = logging.getLogger(__name__)
_INTERNAL = "the command failed because of an error in Smart Context; the log says more"


class Commands(Protocol):
    """The commands that clients may run."""

    async def call(self, name: str, params: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """The command's result."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a command."""

    value: Any

    @property
    def members(self) -> dict[str, Any]:
        """The JSON object in a reply."""
        return {"result": self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a command failed: a JSON-RPC code and a message for the user."""

    code: int
    message: str
    is_passing: bool = False  # the storage can't be reached now; later the same may do

    @property
    def members(self) -> dict[str, Any]:
        """The JSON object in a reply."""
        return {"error": {"code": self.code, "message": self.message}}


async def run_command(
    commands: Commands, name: str, params: Mapping[str, Any], caller: Caller
) -> CallResult | Failure:
    """Run a command; never raises, and never shows a traceback."""
    try:
        return CallResult(await commands.call(name, params, caller))
    except SmartContextError as error:
        is_away = isinstance(error, StorageAway)
        return Failure(code=_code_of(error), message=str(error), is_passing=is_away)
    except Exception:  # noqa: BLE001 - a fault of one command must not end the connection
        _log.exception("Command %s failed", name)
        return Failure(code=COMMAND_FAILED, message=_INTERNAL)


def render_outcome(
    outcome: CallResult | Failure, envelope: Mapping[str, Any]
) -> tuple[str, CallResult | Failure]:
    """The reply's JSON within `envelope`, and its outcome.

    A result that can't be serialised counts as a failure of the command.
    """
    try:
        return render_json({**envelope, **outcome.members}), outcome
    except ValueError:
        _log.exception("A command's result is not JSON")
        failure = Failure(code=COMMAND_FAILED, message=_INTERNAL)
        return render_json({**envelope, **failure.members}), failure


def _code_of(error: SmartContextError) -> int:
    if isinstance(error, UnknownCommand):
        return UNKNOWN_COMMAND
    if isinstance(error, InvalidParams | ChatIdInvalid | PathRefused):
        return INVALID_PARAMS
    return COMMAND_FAILED
