"""Responses to refused requests: a small page for browsers, JSON for programs."""

import base64
import hashlib
from collections.abc import Mapping
from html import escape

from starlette.responses import Response

from smart_context.web.gate.client_keys import MISPLACED, is_for_clients
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
_NO_STORE = {"Cache-Control": "no-store"}

PLAIN_STYLE = (
    ":root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}"
    "main{max-width:36rem;margin:15vh auto;padding:0 1.5rem}"
    "h1{font-size:1.4rem;line-height:1.3}"
    "code{font:1em/1.6 ui-monospace,monospace;user-select:all}"
)
"""The style of pages for browsers that may fetch nothing else, such as a style sheet."""

PLAIN_STYLE_SOURCE = (
    f"'sha256-{base64.b64encode(hashlib.sha256(PLAIN_STYLE.encode()).digest()).decode()}'"
)


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


_POLICY = (
    f"default-src 'none'; style-src {PLAIN_STYLE_SOURCE}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{head}<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{advice}</p>
{command}{link}</main>
</body>
</html>
"""


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
        return _refused_client(refusal, {**_NO_STORE, **told})
    every = {**_NO_STORE, **(headers or {}), **told}
    if facts.path.startswith("/api/") or "text/html" not in facts.header("accept"):
        return error_response(refusal.status, refusal.status, _sentence(refusal), every)
    link, command = _link_back(facts, refusal), refusal.command
    return plain_page(refusal.title, refusal.advice, link, refusal.status, every, command=command)


def plain_page(
    title: str,
    advice: str,
    link: tuple[str, str] | None,
    status: int = 200,
    headers: Mapping[str, str] = _NO_STORE,
    *,
    command: str = "",
    head: str = "",
) -> Response:
    """A small page with a link, for browsers that may fetch nothing else.

    Args:
        link: An address on this server, and its words.
        command: A command to run in a terminal; empty for none.
        head: More HTML for the head of the page.
    """
    href, words = link or ("", "")
    page = _PAGE.format(
        head=head,
        title=escape(title),
        advice=escape(advice),
        style=PLAIN_STYLE,
        command=f"<p><code>{escape(command)}</code></p>\n" if command else "",
        link=f'<p><a href="{escape(href)}">{escape(words)}</a></p>\n' if link else "",
    )
    every = {**headers, "Content-Security-Policy": _POLICY}
    return Response(page, status, every, media_type="text/html")


def forward(location: str) -> Response:
    """A page that leads on by itself, so that the browser sends its strict cookies there."""
    refresh = f'<meta http-equiv="refresh" content="0; url={escape(location)}">\n'
    link = location, "Open Smart Context"
    return plain_page("Opening Smart Context", "One moment.", link, head=refresh)


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
    command = f" {refusal.command}" if refusal.command else ""
    return f"{refusal.title}. {refusal.advice}{command}"
