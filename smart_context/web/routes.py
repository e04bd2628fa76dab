"""The web application: gate, socket, commands over HTTP, attached files, health and pages."""

import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from smart_context import __version__
from smart_context.base.errors import SmartContextError, StorageAway, StoreFailed
from smart_context.base.values import PersonId
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.host import Host
from smart_context.host.reading import ReadAccess
from smart_context.web.gate.door import OPEN_PATH, READY_PATH
from smart_context.web.gate.gate import admitted
from smart_context.web.gate.refusals import error_response
from smart_context.web.limits import (
    MAX_DROPPED_BYTES,
    MAX_FRAME_BYTES,
    MAX_STALL_S,
    MAX_UPLOAD_BYTES,
    MIB,
)
from smart_context.web.outcomes import Failure, render_outcome, run_command
from smart_context.web.pages.views.message_views import SHOWN_IMAGES
from smart_context.web.request_bodies import BodyTooLarge, read_body
from smart_context.web.session import Sessions
from smart_context.web.wire import (
    COMMAND_FAILED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNKNOWN_COMMAND,
    JsonRefused,
    read_beside,
    read_json,
)

_STATUS = {UNKNOWN_COMMAND: 404, INVALID_PARAMS: 422, COMMAND_FAILED: 500}
_BAD_REQUEST = 400
_TIMED_OUT = 408
_UNAVAILABLE = 503

RETRY_AFTER_S = "5"
"""The seconds after which an unreachable storage may be asked again."""

_TOO_LARGE = 413
_PIECE_CHARS = 1024 * 1024
_NO_STORE = {"Cache-Control": "no-store"}


def command_route(commands: CommandRegistry) -> Route:
    """`POST /api/commands/<name>`: a JSON object in, `{"result": …}` or `{"error": …}` out."""

    async def run(request: Request) -> Response:
        try:
            params = await read_params(request)
        except TimeoutError:
            return error_response(_TIMED_OUT, _TIMED_OUT, f"no whole body within {MAX_STALL_S:g} s")
        except BodyTooLarge:
            limit = MAX_FRAME_BYTES // MIB
            return error_response(_TOO_LARGE, _TOO_LARGE, f"the body is larger than {limit} MiB")
        except JsonRefused as refused:
            return error_response(_BAD_REQUEST, refused.code, str(refused))
        caller = Caller(admitted(request.scope).person)
        outcome = await run_command(commands, request.path_params["name"], params, caller)
        body, told = await render_outcome(outcome, {})
        if not isinstance(told, Failure):
            return _json_response(body, 200, _NO_STORE)
        status = _UNAVAILABLE if told.is_passing else _STATUS[told.code]
        headers = {"Retry-After": RETRY_AFTER_S} if told.is_passing else {}
        return _json_response(body, status, _NO_STORE | headers)

    return Route("/api/commands/{name:path}", run, methods=["POST"])


def _json_response(body: str, status: int, headers: Mapping[str, str]) -> Response:
    """A response with this JSON; a long one is sent in pieces, so that others get their turn."""
    if len(body) <= _PIECE_CHARS:
        return Response(body, status, headers, media_type="application/json")
    starts = range(0, len(body), _PIECE_CHARS)
    pieces = (body[start : start + _PIECE_CHARS].encode() for start in starts)
    return StreamingResponse(pieces, status, headers, media_type="application/json")


async def read_params(request: Request) -> dict[str, Any]:
    """The body's JSON object; empty for an empty body.

    Raises:
        BodyTooLarge: If the body is too large.
        JsonRefused: If the body is not a valid JSON object.
    """
    body = await read_body(request, MAX_FRAME_BYTES, within_s=MAX_STALL_S)
    params = await read_beside(read_json, body) if body else {}
    if not isinstance(params, dict):
        raise JsonRefused(INVALID_REQUEST, "the body must be a JSON object of parameters")
    return params


_MEMORY = Path("/proc/self/statm")


def health_routes(host: Host, clients: Sessions) -> list[Route]:
    """`/healthz` and `/readyz` for anybody, `/metrics` for requests that are let in."""

    async def health(_request: Request) -> Response:
        return PlainTextResponse("ok\n", headers=_NO_STORE)

    async def ready(_request: Request) -> Response:
        """The answer of `/readyz`: if requests can be served now; the log has the reason if not."""
        try:
            await host.check_storage()
        except StoreFailed:
            return PlainTextResponse("storage away\n", _UNAVAILABLE, _NO_STORE)
        return PlainTextResponse("ready\n", headers=_NO_STORE)

    async def metrics(_request: Request) -> Response:
        """Figures in the text format of Prometheus."""
        figures = {
            "clients": ("Clients that are connected to the socket", float(len(clients))),
            "cpu_seconds": ("Processor time that this process has taken", time.process_time()),
            "resident_bytes": ("Memory that this process holds", _resident_bytes()),
            **host.figures(),
        }
        lines = [
            "# HELP smart_context_info The version of the server",
            "# TYPE smart_context_info gauge",
            f'smart_context_info{{version="{__version__}"}} 1',
        ]
        for name, (meaning, value) in figures.items():
            lines += (
                f"# HELP smart_context_{name} {meaning}",
                f"# TYPE smart_context_{name} gauge",
                f"smart_context_{name} {value:g}",
            )
        body = "\n".join(lines) + "\n"
        return Response(body, headers=_NO_STORE, media_type="text/plain; version=0.0.4")

    return [
        Route(OPEN_PATH, health, methods=["GET"]),
        Route(READY_PATH, ready, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
    ]


def _resident_bytes() -> float:
    """The bytes of memory that this process holds; 0 if the system does not tell."""
    if sys.platform != "linux":
        return 0.0
    try:
        pages = int(_MEMORY.read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


_MOST_READ = MAX_UPLOAD_BYTES + MAX_DROPPED_BYTES
_REFUSED, _DISK_FULL = 422, 507

PutFile = Callable[[PersonId, str, bytes], Awaitable[AttachedFile]]
"""Stores a person's file."""


def file_routes(put: PutFile, reading: ReadAccess) -> list[BaseRoute]:
    """The routes for attached files."""

    async def upload(request: Request) -> Response:
        name = unquote(request.headers.get("x-file-name", ""), errors="replace").strip()
        if not name:
            missing = "X-File-Name must hold the file's name, percent-encoded"
            return error_response(_BAD_REQUEST, _BAD_REQUEST, missing)
        try:
            content = await read_body(request, MAX_UPLOAD_BYTES, most_read=_MOST_READ)
            stored = await put(admitted(request.scope).person, name, content)
        except (BodyTooLarge, TimeoutError, SmartContextError) as error:
            status, why = _refusal(error)
            return error_response(status, status, why)
        return JSONResponse(stored.to_dict(), headers=_NO_STORE)

    async def download(request: Request) -> Response:
        caller = Caller(admitted(request.scope).person)
        found = await reading.file(caller, request.path_params["key"])
        if found is None:
            raise HTTPException(404)
        stored, content = found
        is_image = stored.file_type in SHOWN_IMAGES
        name = quote(stored.name, safe="", errors="replace")
        way = "inline" if is_image else "attachment"
        headers = {
            "Content-Disposition": f"{way}; filename*=UTF-8''{name}",
            "Cache-Control": "private, max-age=31536000, immutable",
        }
        # Files that a browser would run or show as a page can only be downloaded.
        kind = stored.file_type if is_image else "application/octet-stream"
        return Response(content, media_type=kind, headers=headers)

    return [
        Route("/api/files", upload, methods=["POST"]),
        Route("/api/files/{key}", download, methods=["GET"]),
    ]


def _refusal(error: Exception) -> tuple[int, str]:
    match error:
        case BodyTooLarge():
            return _TOO_LARGE, f"the file is larger than {MAX_UPLOAD_BYTES // MIB} MiB"
        case TimeoutError():
            return _TIMED_OUT, f"no bytes arrived for {MAX_STALL_S:g} s"
        case StoreFailed():
            return _UNAVAILABLE if isinstance(error, StorageAway) else _DISK_FULL, str(error)
        case _:
            return _REFUSED, str(error)
