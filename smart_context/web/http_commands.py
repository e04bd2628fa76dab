"""Commands over HTTP: the same as on the socket, one per request."""

from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from smart_context.host.commands.registry import Caller
from smart_context.web.bodies import BodyTooLarge, read_body
from smart_context.web.gate.gate import admitted
from smart_context.web.gate.refusals import error_response
from smart_context.web.limits import MAX_FRAME_BYTES, MAX_STALL_S, MIB
from smart_context.web.wire.calls import Commands, Failure, render_outcome, run_command
from smart_context.web.wire.frames import (
    COMMAND_FAILED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNKNOWN_COMMAND,
    JsonRefused,
    read_json,
)

_STATUS = {UNKNOWN_COMMAND: 404, INVALID_PARAMS: 422, COMMAND_FAILED: 500}
_BAD_REQUEST = 400
_TIMED_OUT = 408
_UNAVAILABLE = 503

RETRY_AFTER_S = "5"
"""When a storage that is away may be asked again."""

_TOO_LARGE = 413


async def healthz(request: Request) -> Response:  # noqa: ARG001  (an endpoint has this form)
    """Answer anybody that the server is up."""
    return PlainTextResponse("ok\n", headers={"Cache-Control": "no-store"})


class HttpCommands:
    """`POST /api/commands/<name>`: a JSON object in, `{"result": …}` or `{"error": …}` out."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def run(self, request: Request) -> Response:
        """Run the command named by the path, with parameters from the body."""
        try:
            params = await read_params(request)
        except TimeoutError:
            return error_response(_TIMED_OUT, _TIMED_OUT, f"no whole body within {MAX_STALL_S:g} s")
        except BodyTooLarge:
            limit = MAX_FRAME_BYTES // MIB
            return error_response(_TOO_LARGE, _TOO_LARGE, f"the body is larger than {limit} MiB")
        except JsonRefused as refused:
            return error_response(_BAD_REQUEST, refused.code, str(refused))
        name = request.path_params["name"]
        caller = Caller(admitted(request.scope).person)
        outcome = await run_command(self._commands, name, params, caller)
        body, told = render_outcome(outcome, {})
        headers = {"Cache-Control": "no-store"}
        status = 200
        if isinstance(told, Failure):
            status = _UNAVAILABLE if told.is_passing else _STATUS[told.code]
            headers |= {"Retry-After": RETRY_AFTER_S} if told.is_passing else {}
        return Response(body, status, headers, media_type="application/json")


async def read_params(request: Request) -> dict[str, Any]:
    """The body's JSON object; empty for an empty body.

    Raises:
        BodyTooLarge: If the body is too large.
        JsonRefused: If the body is not a valid JSON object.
    """
    body = await read_body(request, MAX_FRAME_BYTES, within_s=MAX_STALL_S)
    params = read_json(body) if body else {}
    if not isinstance(params, dict):
        raise JsonRefused(INVALID_REQUEST, "the body must be a JSON object of parameters")
    return params
