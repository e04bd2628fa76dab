"""The gate: checks every request, adds headers to every response, and gives browsers the key page.

A cookie goes to every port of a host, so any program on this machine that a browser visits
could show it. The key is in storage that only pages of our own origin can read; but a browser
does not send it by itself. So each page is requested twice: the browser gets the key page, and
`static/pages/enter.js` fetches the page with the key and writes it in the key page's place.
"""

import logging
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smart_context.base.lookups import one_request
from smart_context.base.resources import asset
from smart_context.base.values import NOBODY
from smart_context.base.waiting import waited_for
from smart_context.web.assets import assets_version
from smart_context.web.gate.client_keys import (
    client_headers,
    is_for_clients,
    misplaced,
    preflight,
)
from smart_context.web.gate.door import (
    OPEN_PATH,
    READY_PATH,
    AdmittedRequest,
    AnyDoor,
    KeyGiven,
    Redirect,
    Verdict,
)
from smart_context.web.gate.key_page import key_page
from smart_context.web.gate.plain_page import forward
from smart_context.web.gate.refusals import refuse, security_headers
from smart_context.web.gate.request_facts import (
    Hosts,
    Refusal,
    RequestFacts,
    check_site,
    named_host,
    public_host,
)
from smart_context.web.listening import let_in

_log = logging.getLogger(__name__)
_POLICY_VIOLATION = 1008
_NO_STORE = {"Cache-Control": "no-store"}
_ADMITTED = "smart_context.admitted"


def admitted(scope: Scope) -> AdmittedRequest:
    """The identity that the gate gave to a request; nobody's if the request bypassed the gate."""
    found = scope.get(_ADMITTED)
    return found if isinstance(found, AdmittedRequest) else AdmittedRequest(person=NOBODY)


@dataclass(eq=False)
class Gate:
    """ASGI middleware that lets in allowed requests only (`request_facts.py`, `door.py`)."""

    app: ASGIApp
    _: KW_ONLY
    door: AnyDoor  # decides who is let in
    allowed_hosts: Hosts  # names other than loopback that the server goes by

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one connection, then pass it on or answer it here."""
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        facts = RequestFacts.of(scope)
        refusal = check_site(facts, self.allowed_hosts, is_open_to_sites=is_for_clients(facts.path))
        if refusal is None and (answer := preflight(facts)) is not None:
            await answer(scope, receive, _with_headers(send, self._headers(facts)))
            return
        verdict = refusal or misplaced(facts) or await self.door.admit(facts)
        if isinstance(verdict, Refusal):
            _log.info("Refused %s %s: %s", facts.method, facts.path, verdict.title)
        elif facts.path not in (OPEN_PATH, READY_PATH):
            let_in(scope)
        scope[_ADMITTED] = verdict
        app = self.app if isinstance(verdict, AdmittedRequest) else await _response(facts, verdict)
        if facts.is_socket:
            await _answer_socket(app, scope, receive, send, is_admitted=app is self.app)
        else:
            with one_request(), waited_for():
                await app(scope, receive, _with_headers(send, self._headers(facts)))

    def _headers(self, facts: RequestFacts) -> Mapping[str, str]:
        host = named_host(facts, self.allowed_hosts)
        public = public_host(facts, self.allowed_hosts)
        is_secure = public.is_secure if public else facts.is_secure
        every = security_headers(facts.path, host, is_secure=is_secure)
        return {**every, **client_headers(facts.path)}


async def _answer_socket(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, is_admitted: bool
) -> None:
    if is_admitted or "websocket.http.response" in scope.get("extensions", {}):
        await app(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})


async def _response(facts: RequestFacts, verdict: Verdict) -> Response:
    if isinstance(verdict, Response):
        return verdict
    if isinstance(verdict, Refusal):
        return refuse(facts, verdict)
    if isinstance(verdict, KeyGiven):
        return JSONResponse({"key": verdict.key}, headers=_NO_STORE)
    if isinstance(verdict, Redirect):
        return _redirect(verdict)
    version = await run_in_threadpool(assets_version, asset("static"))
    return HTMLResponse(key_page(facts.path, version), headers=_NO_STORE)


def _redirect(verdict: Redirect) -> Response:
    if verdict.is_from_elsewhere:
        response = forward(verdict.location)
    else:
        response = RedirectResponse(verdict.location, 303, _NO_STORE)
    if verdict.cookie is not None:
        response.headers.append("Set-Cookie", verdict.cookie)
    return response


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    """Add the headers that a response does not have yet."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            brought = MutableHeaders(scope=message)
            for name, value in headers.items():
                brought.setdefault(name, value)
        await send(message)

    return send_with_headers
