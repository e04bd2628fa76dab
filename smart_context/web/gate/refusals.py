"""Responses to refused requests: a small page for browsers, JSON for programs."""

import base64
import hashlib
from collections.abc import Mapping
from html import escape

from starlette.responses import Response

from smart_context.web.gate.client_keys import is_for_clients, refused_client
from smart_context.web.gate.request_facts import Refusal, RequestFacts, clean_url
from smart_context.web.wire import render_json

PLAIN_STYLE = (
    ":root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}"
    "main{max-width:36rem;margin:15vh auto;padding:0 1.5rem}"
    "h1{font-size:1.4rem;line-height:1.3}"
    "code{font:1em/1.6 ui-monospace,monospace;user-select:all}"
)
"""The style of pages for those who may fetch nothing else, such as a style sheet."""

PLAIN_STYLE_SOURCE = (
    f"'sha256-{base64.b64encode(hashlib.sha256(PLAIN_STYLE.encode()).digest()).decode()}'"
)


def security_headers(path: str, host: str, *, is_secure: bool = False) -> dict[str, str]:
    """The headers of a response.

    Args:
        path: The path of the request; pages of panels may be framed by our own pages.
        host: What `named_host` says, for which sockets may be opened; empty for none.
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
<title>{title}</title>
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
    """The response to a request that is refused: HTML where a browser wants a page, else JSON."""
    if is_for_clients(facts.path):
        return refused_client(refusal)
    every = {"Cache-Control": "no-store", **(headers or {})}
    if refusal.status == 401:  # noqa: PLR2004  (Unauthorized)
        every["WWW-Authenticate"] = 'Bearer realm="Smart Context"'
    if refusal.retry_after_s:
        every["Retry-After"] = str(refusal.retry_after_s)
    if facts.path.startswith("/api/") or "text/html" not in facts.header("accept"):
        return error_response(refusal.status, refusal.status, _sentence(refusal), every)
    page = _PAGE.format(
        title=escape(refusal.title),
        advice=escape(refusal.advice),
        style=PLAIN_STYLE,
        command=f"<p><code>{escape(refusal.command)}</code></p>\n" if refusal.command else "",
        link=_link_back(facts, refusal),
    )
    every["Content-Security-Policy"] = _POLICY
    return Response(page, refusal.status, every, media_type="text/html")


def plain_page(title: str, advice: str, link: tuple[str, str], *, status: int = 200) -> Response:
    """A small page with one link, for those who may fetch nothing else.

    Args:
        link: An address on this server, and its words.
    """
    href, words = link
    page = _PAGE.format(
        title=escape(title),
        advice=escape(advice),
        style=PLAIN_STYLE,
        command="",
        link=f'<p><a href="{escape(href)}">{escape(words)}</a></p>\n',
    )
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": _POLICY}
    return Response(page, status, headers, media_type="text/html")


def forward(location: str) -> Response:
    """A page that leads on by itself, so that the browser sends its strict cookies there."""
    refresh = f'<meta http-equiv="refresh" content="0; url={escape(location)}">'
    page = _PAGE.replace("<title>", f"{refresh}\n<title>").format(
        title="Opening Smart Context",
        advice="One moment.",
        style=PLAIN_STYLE,
        command="",
        link=f'<p><a href="{escape(location)}">Open Smart Context</a></p>\n',
    )
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": _POLICY}
    return Response(page, headers=headers, media_type="text/html")


def error_response(
    status: int, code: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as HTTP responses to programs have it."""
    body = render_json({"error": {"code": code, "message": message}})
    return Response(body, status, headers, media_type="application/json")


def _link_back(facts: RequestFacts, refusal: Refusal) -> str:
    """A way on for a browser that was let in before but came from another site's link.

    Such a request lacks the `SameSite=Strict` cookie; one that starts on our own page has it.
    """
    if refusal.may_lack_cookie:
        href, text = clean_url(facts), "Already let in with this browser? Open Smart Context"
    elif refusal.status == 404:  # noqa: PLR2004  (Not Found)
        href, text = "/", "Open Smart Context"
    else:
        return ""
    return f'<p><a href="{escape(href)}">{text}</a></p>\n'


def _sentence(refusal: Refusal) -> str:
    command = f" {refusal.command}" if refusal.command else ""
    return f"{refusal.title}. {refusal.advice}{command}"
