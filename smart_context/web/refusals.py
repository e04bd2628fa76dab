"""Answers to requests that come to nothing: a small page for people, JSON for programs."""

import base64
import hashlib
from collections.abc import Mapping
from html import escape

from starlette.responses import Response

from smart_context.web.frames import render_json
from smart_context.web.security import Refusal, Visit, clean_url

_STYLE = (
    ":root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}"
    "main{max-width:36rem;margin:15vh auto;padding:0 1.5rem}"
    "h1{font-size:1.4rem;line-height:1.3}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; "
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
{link}</main>
</body>
</html>
"""


def refuse(visit: Visit, refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    """The response to a visit that is refused: HTML where a browser wants a page, else JSON."""
    every = {"Cache-Control": "no-store", **(headers or {})}
    if refusal.status == 401:  # noqa: PLR2004  (Unauthorized)
        every["WWW-Authenticate"] = 'Bearer realm="Smart Context"'
    if visit.path.startswith("/api/") or "text/html" not in visit.header("accept"):
        return error_response(refusal.status, refusal.status, _sentence(refusal), every)
    page = _PAGE.format(
        title=escape(refusal.title),
        advice=escape(refusal.advice),
        style=_STYLE,
        link=_link_back(visit, refusal),
    )
    every["Content-Security-Policy"] = _POLICY
    return Response(page, refusal.status, every, media_type="text/html")


def error_response(
    status: int, code: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as every HTTP answer to a program has it (contract A10)."""
    body = render_json({"error": {"code": code, "message": message}})
    return Response(body, status, headers, media_type="application/json")


def _link_back(visit: Visit, refusal: Refusal) -> str:
    """A way on for a browser that was let in before but came from another site's link.

    Such a visit lacks the `SameSite=Strict` cookie; one that starts on our own page has it.
    """
    if refusal.status == 401:  # noqa: PLR2004  (Unauthorized)
        href, text = clean_url(visit), "This browser was let in before: open Smart Context"
    elif refusal.status == 404:  # noqa: PLR2004  (Not Found)
        href, text = "/", "Open Smart Context"
    else:
        return ""
    return f'<p><a href="{escape(href)}">{text}</a></p>\n'


def _sentence(refusal: Refusal) -> str:
    return f"{refusal.title}. {refusal.advice}"
