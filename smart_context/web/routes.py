"""The web application: gate, socket, commands over HTTP, attached files, health and pages."""

import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from inspect import isawaitable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
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
from smart_context.web.listening import BodyTooLarge, read_body
from smart_context.web.pages.views.message_views import SHOWN_IMAGES
from smart_context.web.session import Sessions
from smart_context.web.wire import (
    COMMAND_FAILED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNKNOWN_COMMAND,
    Failure,
    JsonRefused,
    read_json,
    render_outcome,
    run_command,
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

    def __init__(self, commands: CommandRegistry) -> None:
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


_NO_STORE = {"Cache-Control": "no-store"}
_MEMORY = Path("/proc/self/statm")


class HealthRoutes:
    """`/readyz` for anybody, `/metrics` for those who are let in."""

    def __init__(self, host: Host, clients: Sessions) -> None:
        self._host = host
        self._clients = clients

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(READY_PATH, self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def ready(self, request: Request) -> Response:  # noqa: ARG002 - an endpoint's form
        """Answer anybody whether requests can be served now; the log says why not."""
        try:
            await self._host.check_storage()
        except StoreFailed:
            return PlainTextResponse("storage away\n", _UNAVAILABLE, _NO_STORE)
        return PlainTextResponse("ready\n", headers=_NO_STORE)

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 - an endpoint's form
        """Figures in the text format of Prometheus."""
        figures = {
            "clients": ("Clients that are connected to the socket", float(len(self._clients))),
            "cpu_seconds": ("Processor time that this process has taken", time.process_time()),
            "resident_bytes": ("Memory that this process holds", _resident_bytes()),
            **self._host.figures(),
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


def _resident_bytes() -> float:
    """Memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(_MEMORY.read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


_MOST_READ = MAX_UPLOAD_BYTES + MAX_DROPPED_BYTES
_NO_NAME, _REFUSED, _DISK_FULL = 400, 422, 507

PutFile = Callable[[str, bytes], Awaitable[AttachedFile]]
"""Stores a file."""


def file_routes(put: PutFile, reading: Reading) -> list[BaseRoute]:
    """The routes for attached files."""
    endpoints = _Endpoints(put, reading)
    return [
        Route("/api/files", endpoints.upload, methods=["POST"]),
        Route("/api/files/{key}", endpoints.download, methods=["GET"]),
    ]


class _NoName(Exception):
    pass


class _Endpoints:
    def __init__(self, put: PutFile, reading: Reading) -> None:
        self._put = put
        self._reading = reading

    async def upload(self, request: Request) -> Response:
        try:
            name = _name(request)
            stored = await self._put(
                name, await read_body(request, MAX_UPLOAD_BYTES, most_read=_MOST_READ)
            )
        except (_NoName, BodyTooLarge, TimeoutError, SmartContextError) as error:
            status, why = _refusal(error)
            return error_response(status, status, why)
        return JSONResponse(stored.to_dict(), headers={"Cache-Control": "no-store"})

    async def download(self, request: Request) -> Response:
        caller = Caller(admitted(request.scope).person)
        found = await self._reading.file(caller, request.path_params["key"])
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


def _name(request: Request) -> str:
    if name := unquote(request.headers.get("x-file-name", ""), errors="replace").strip():
        return name
    raise _NoName


def _refusal(error: Exception) -> tuple[int, str]:
    match error:
        case _NoName():
            return _NO_NAME, "X-File-Name must hold the file's name, percent-encoded"
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


NotFound = Callable[[Request], Response | Awaitable[Response]]
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
            Route(OPEN_PATH, healthz, methods=["GET"]),
            *HealthRoutes(host, sessions).routes(),
            Route("/api/commands/{name:path}", HttpCommands(host.commands).run, methods=["POST"]),
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
            page = not_found(request)
            return await page if isawaitable(page) else page
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
