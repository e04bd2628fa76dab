"""Replies to commands: a result, or the reason of a failure."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smart_context.base.errors import (
    ChatIdInvalid,
    InvalidParams,
    PathRefused,
    SmartContextError,
    StorageAway,
    UnknownCommand,
)
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.web.wire import (
    COMMAND_FAILED,
    INVALID_PARAMS,
    UNKNOWN_COMMAND,
    is_long,
    render_json,
    slices_of,
)

_log = logging.getLogger(__name__)
_INTERNAL = "the command failed because of an error in Smart Context; the log says more"


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
    """The failure of a command: a JSON-RPC code and a message for the user."""

    code: int
    message: str
    is_passing: bool = False  # the storage can't be reached now; the same command may succeed later

    @property
    def members(self) -> dict[str, Any]:
        """The JSON object in a reply."""
        return {"error": {"code": self.code, "message": self.message}}


async def run_command(
    commands: CommandRegistry, name: str, params: Mapping[str, Any], caller: Caller
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


async def render_outcome(
    outcome: CallResult | Failure, envelope: Mapping[str, Any]
) -> tuple[str, CallResult | Failure]:
    """The reply's JSON within `envelope`, and its outcome; a long one is made in a thread.

    A result that can't be serialised counts as a failure of the command.
    """
    reply = {**envelope, **outcome.members}
    try:
        if is_long(reply):
            return await asyncio.to_thread(lambda: "".join(slices_of(reply))), outcome
        return render_json(reply), outcome
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
