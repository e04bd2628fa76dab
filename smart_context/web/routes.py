"""The web application: gate, socket, commands over HTTP, attached files, health and pages."""

import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from smart_context import __version__
from smart_context.base.errors import SmartContextError, StorageAway, StoreFailed
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.host import Host
from smart_context.host.reading import Reading
from smart_context.web.gate.access import Access
from smart_context.web.gate.door import OPEN_PATH, READY_PATH, AnyDoor, Door
from smart_context.web.gate.gate import Gate, admitted
from smart_context.web.gate.refusals import error_response, refuse, security_headers
from smart_context.web.gate.request_facts import Hosts, Refusal, RequestFacts
from smart_context.web.gate.throttle import Throttle
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
"""When a storage that is away may be asked again."""

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
    """A response with this JSON; a long one goes out in pieces, between which others have turns."""
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
    """`/healthz` and `/readyz` for anybody, `/metrics` for those who are let in."""

    async def health(_request: Request) -> Response:
        return PlainTextResponse("ok\n", headers=_NO_STORE)

    async def ready(_request: Request) -> Response:
        """Whether requests can be served now; the log says why not."""
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
    """Memory that this process holds; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0.0
    try:
        pages = int(_MEMORY.read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


_MOST_READ = MAX_UPLOAD_BYTES + MAX_DROPPED_BYTES
_REFUSED, _DISK_FULL = 422, 507

PutFile = Callable[[str, bytes], Awaitable[AttachedFile]]
"""Stores a file."""


def file_routes(put: PutFile, reading: Reading) -> list[BaseRoute]:
    """The routes for attached files."""

    async def upload(request: Request) -> Response:
        name = unquote(request.headers.get("x-file-name", ""), errors="replace").strip()
        if not name:
            missing = "X-File-Name must hold the file's name, percent-encoded"
            return error_response(_BAD_REQUEST, _BAD_REQUEST, missing)
        try:
            content = await read_body(request, MAX_UPLOAD_BYTES, most_read=_MOST_READ)
            stored = await put(name, content)
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


_log = logging.getLogger(__name__)
_NOT_FOUND = 404
_CLIENT_LEFT = 499


class Closing(Protocol):
    """Something that ends when the server does."""

    async def close(self) -> None:
        """Save what there is, soon."""


NotFound = Callable[[Request], Awaitable[Response]]
"""Makes the page for an unknown address."""


def create_web_app(
    host: Host,
    *,
    access: Access,
    allowed_hosts: Hosts = (),
    pages: Sequence[BaseRoute] = (),
    door: AnyDoor | None = None,
    closing: Sequence[Closing] = (),
    not_found: NotFound | None = None,
) -> Starlette:
    """The application that serves one host's vault.

    Its lifespan starts and stops the host. `app.state` holds `access`, from which
    `server.serve` makes start links, and `clients`, those of the socket.

    Args:
        allowed_hosts: Names and addresses besides loopback that `Host` headers may have, with
            the port that the request came in on.
        pages: The routes of pages and static files; they come after the app's own.
        door: Decides who is let in; by default by the secrets of `access`.
        closing: Closed before the host stops.
        not_found: Makes the page for an unknown address.
    """
    sessions = Sessions(host)
    door = door or Door(access, Throttle())

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        unsubscribe = host.on_event(sessions.publish)
        try:
            await host.start()
            yield
        finally:
            for part in closing:
                await part.close()
            await host.stop()
            unsubscribe()
            await sessions.close()

    app = Starlette(
        routes=[
            *health_routes(host, sessions),
            command_route(host.commands),
            WebSocketRoute("/ws", sessions),
            *pages,
        ],
        middleware=[Middleware(Gate, door=door, allowed_hosts=allowed_hosts)],
        exception_handlers={
            HTTPException: _on_http_error(not_found),
            ClientDisconnect: _on_departure,
            StorageAway: _on_storage_away,
            Exception: _on_fault,
        },
        lifespan=lifespan,
    )
    app.state.access = access
    app.state.door = door
    app.state.has_start_links = True
    app.state.clients = sessions
    return app


def _on_http_error(not_found: NotFound | None) -> Callable[[Request, Exception], Any]:
    async def answer(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):  # pragma: no cover - Starlette's word for it
            raise error
        facts = RequestFacts.of(request.scope)
        wants_page = "text/html" in facts.header("accept") and not facts.path.startswith("/api/")
        if error.status_code == _NOT_FOUND and not_found is not None and wants_page:
            return await not_found(request)
        return refuse(facts, _refusal_of(error), error.headers)

    return answer


def _refusal_of(error: HTTPException) -> Refusal:
    if error.status_code == _NOT_FOUND:
        return Refusal(
            status=_NOT_FOUND,
            title="Page not found",
            advice="It may have been moved or deleted.",
        )
    allowed = (error.headers or {}).get("Allow", "")
    advice = f"This address takes {allowed}." if allowed else "Send the request differently."
    return Refusal(status=error.status_code, title=error.detail, advice=advice)


async def _on_departure(_request: Request, _error: Exception) -> Response:
    """A client that left before its request was complete; nobody reads the answer."""
    return Response(status_code=_CLIENT_LEFT)


async def _on_storage_away(request: Request, error: Exception) -> Response:
    """The database is away: said, and worth another try."""
    refusal = Refusal(
        status=503,
        title="The database can't be reached",
        advice=f"{error} Try again in a moment; nothing that was saved is lost.",
        retry_after_s=int(RETRY_AFTER_S),
    )
    return refuse(RequestFacts.of(request.scope), refusal)


async def _on_fault(request: Request, error: Exception) -> Response:
    """An internal error: the traceback goes to the log, not to the client."""
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    facts = RequestFacts.of(request.scope)
    refusal = Refusal(
        status=500,
        title="Something went wrong in Smart Context",
        advice="The log in the terminal says more. Nothing that was saved is lost.",
    )
    headers: Mapping[str, str] = security_headers(facts.path, "", is_secure=facts.is_secure)
    return refuse(facts, refusal, headers)
