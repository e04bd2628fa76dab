"""Responses to refused requests: a small page for browsers, JSON for programs."""

from collections.abc import Mapping

from starlette.responses import Response

from smart_context.web.gate.client_keys import MISPLACED, is_for_clients
from smart_context.web.gate.plain_page import NO_STORE, PLAIN_STYLE_SOURCE, plain_page
from smart_context.web.gate.request_facts import Refusal, RequestFacts, clean_url
from smart_context.web.wire import render_json

_UNAUTHORIZED, _NOT_FOUND = 401, 404
_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_CODES = {401: "invalid_api_key", 404: "unknown_url"}


def security_headers(path: str, host: str, *, is_secure: bool = False) -> dict[str, str]:
    """The headers of a response.

    Args:
        path: The path of the request; pages of panels may be framed by our own pages.
        host: The result of `named_host`, to which sockets may be opened; empty for none.
        is_secure: The request came over TLS.
    """
    is_panel = path.startswith("/panels/")
    ancestors = "'self'" if is_panel else "'none'"
    sockets = f" {'wss' if is_secure else 'ws'}://{host}" if host else ""
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' {PLAIN_STYLE_SOURCE}; "
        "img-src 'self' data:; font-src 'self'; "
        f"connect-src 'self'{sockets}; frame-src 'self'; manifest-src 'self'; "
        f"base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN" if is_panel else "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Cache-Control": "no-cache",
    }


def refuse(
    facts: RequestFacts, refusal: Refusal, headers: Mapping[str, str] | None = None
) -> Response:
    """The response to a refused request: HTML if a browser wants a page, otherwise JSON."""
    told = {}
    if refusal.status == _UNAUTHORIZED:
        told["WWW-Authenticate"] = 'Bearer realm="Smart Context"'
    if refusal.retry_after_s:
        told["Retry-After"] = str(refusal.retry_after_s)
    if is_for_clients(facts.path) or refusal is MISPLACED:
        return _refused_client(refusal, {**NO_STORE, **told})
    every = {**NO_STORE, **(headers or {}), **told}
    if facts.path.startswith("/api/") or "text/html" not in facts.header("accept"):
        return error_response(refusal.status, refusal.status, _sentence(refusal), every)
    link, command = _link_back(facts, refusal), refusal.command
    return plain_page(refusal.title, refusal.advice, link, refusal.status, every, command=command)


def error_response(
    status: int, code: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error in the form of HTTP responses to programs."""
    body = render_json({"error": {"code": code, "message": message}})
    return Response(body, status, headers, media_type="application/json")


def _refused_client(refusal: Refusal, headers: Mapping[str, str]) -> Response:
    """A refusal in the form of the API's errors."""
    error = {
        "message": f"{refusal.title}. {refusal.advice}",
        "type": _KINDS.get(refusal.status, "invalid_request_error"),
        "param": None,
        "code": _CODES.get(refusal.status),
    }
    return Response(render_json({"error": error}), refusal.status, headers, "application/json")


def _link_back(facts: RequestFacts, refusal: Refusal) -> tuple[str, str] | None:
    """A way on for a browser that was let in before but came from another site's link.

    Such a request lacks the `SameSite=Strict` cookie; one that starts on our own page has it.
    """
    if refusal.may_lack_cookie:
        return clean_url(facts), "Already let in with this browser? Open Smart Context"
    return ("/", "Open Smart Context") if refusal.status == _NOT_FOUND else None


def _sentence(refusal: Refusal) -> str:
    told = f"{refusal.title}.", refusal.advice, refusal.command, refusal.for_programs
    return " ".join(filter(None, told))
