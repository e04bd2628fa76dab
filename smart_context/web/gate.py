"""The gate before everything: checks each request and gives each response its headers."""

import logging
from collections.abc import Collection, Mapping

from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smart_context.web.access import Access
from smart_context.web.guarded_http import let_in
from smart_context.web.refusals import refuse
from smart_context.web.security import (
    OPEN_PATH,
    Redirect,
    Refusal,
    Visit,
    host_is_allowed,
    judge,
    security_headers,
)

_log = logging.getLogger(__name__)
_POLICY_VIOLATION = 1008


class Gate:
    """ASGI middleware that lets in only who may come in (`security.judge`).

    Args:
        app: What lies behind the gate.
        access: The server's secrets.
        allowed_hosts: Names beside loopback that the server goes by.
    """

    def __init__(self, app: ASGIApp, *, access: Access, allowed_hosts: Collection[str]) -> None:
        self._app = app
        self._access = access
        self._allowed_hosts = tuple(allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one connection, then pass it on or answer it here."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        visit = Visit.of(scope)
        verdict = judge(visit, self._access, self._allowed_hosts)
        if isinstance(verdict, Refusal):
            _log.info("Refused %s %s: %s", visit.method, visit.path, verdict.title)
        elif visit.path != OPEN_PATH:
            let_in(scope)
        if visit.is_socket:
            await self._pass_socket(verdict, visit, scope, receive, send)
        else:
            guarded = _with_headers(send, self._headers(visit))
            app = self._app if verdict is None else _response(visit, verdict)
            await app(scope, receive, guarded)

    def _headers(self, visit: Visit) -> Mapping[str, str]:
        host = visit.header("host")
        if not host_is_allowed(host, visit, self._allowed_hosts):
            host = ""
        return security_headers(visit.path, host.lower(), is_secure=visit.is_secure)

    async def _pass_socket(
        self,
        verdict: Refusal | Redirect | None,
        visit: Visit,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if verdict is None:
            await self._app(scope, receive, send)
        elif "websocket.http.response" in scope.get("extensions", {}):
            await _response(visit, verdict)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})


def _response(visit: Visit, verdict: Refusal | Redirect) -> Response:
    if isinstance(verdict, Refusal):
        return refuse(visit, verdict)
    response = RedirectResponse(verdict.location, 303, {"Cache-Control": "no-store"})
    if verdict.cookie is not None:
        response.headers.append("Set-Cookie", verdict.cookie)
    return response


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    """Add the headers that a response does not bring itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            brought = MutableHeaders(scope=message)
            for name, value in headers.items():
                brought.setdefault(name, value)
        await send(message)

    return send_with_headers
