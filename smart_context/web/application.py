"""The application of pages and routes, and its answers to failed requests."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute

from smart_context.base.errors import StorageAway
from smart_context.host.host import Host
from smart_context.web.gate.access import GateSecrets
from smart_context.web.gate.door import AnyDoor, Door
from smart_context.web.gate.gate import Gate
from smart_context.web.gate.refusals import refuse, security_headers
from smart_context.web.gate.request_facts import Hosts, Refusal, RequestFacts
from smart_context.web.gate.throttle import Throttle
from smart_context.web.routes import RETRY_AFTER_S, command_route, health_routes
from smart_context.web.session import Sessions

_log = logging.getLogger(__name__)
_NOT_FOUND = 404
_CLIENT_LEFT = 499


class Closing(Protocol):
    """Something that is closed before the host stops."""

    async def close(self) -> None:
        """Save unsaved state, quickly."""


NotFound = Callable[[Request], Awaitable[Response]]
"""Makes the page for an unknown address."""


def create_web_app(
    host: Host,
    *,
    access: GateSecrets,
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
        door: Decides who is let in; by default from the secrets of `access`.
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
    """An unreachable database: the answer says so, and when to try again."""
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
