"""Small pages for browsers that may fetch nothing else: no style sheet, font or script."""

import base64
import hashlib
from collections.abc import Mapping
from html import escape

from starlette.responses import Response

NO_STORE = {"Cache-Control": "no-store"}

# The colours of `static/css/tokens.css`, and shapes like those of the other pages.
PLAIN_STYLE = (
    ".plain{color-scheme:light dark;margin:0;font:1rem/1.6 system-ui,sans-serif;"
    "background:light-dark(oklch(0.988 0.003 95),oklch(0.205 0.009 280));"
    "color:light-dark(oklch(0.27 0.012 280),oklch(0.91 0.006 280))}"
    ".plain main{box-sizing:border-box;max-width:34rem;min-height:100vh;margin:auto;"
    "padding:18vh 1.5rem 3rem}"
    ".plain svg{width:2.5rem}"
    ".plain h1{margin:.75rem 0 .5rem;font-size:1.375rem;font-weight:600;line-height:1.3}"
    ".plain p{margin:0 0 1.25rem;color:light-dark(oklch(0.5 0.012 280),oklch(0.74 0.01 280))}"
    ".plain code{display:block;overflow-x:auto;"
    "border:1px solid light-dark(oklch(0.9 0.006 95),oklch(0.31 0.012 280));border-radius:.625rem;"
    "background:light-dark(oklch(1 0 0),oklch(0.245 0.011 280));padding:.75rem 1rem;"
    "color:light-dark(oklch(0.27 0.012 280),oklch(0.91 0.006 280));"
    "font:.9375rem/1.5 ui-monospace,monospace;user-select:all}"
    ".plain a{color:light-dark(oklch(0.5 0.16 278),oklch(0.76 0.11 280));font-weight:600;"
    "text-underline-offset:.2em}"
)
"""The style of such pages: it holds below the class `plain` alone."""

PLAIN_STYLE_SOURCE = (
    f"'sha256-{base64.b64encode(hashlib.sha256(PLAIN_STYLE.encode()).digest()).decode()}'"
)
PLAIN_HEAD = f"""<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>{PLAIN_STYLE}</style>"""

_POLICY = (
    f"default-src 'none'; style-src {PLAIN_STYLE_SOURCE}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{style}
{head}<title>{title} · Smart Context</title>
</head>
<body class="plain">
<main>
<svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="12" cy="14" r="9" fill="#5b5bd6"/>\
<circle cx="24.5" cy="9" r="4.5" fill="#3ba59a"/><circle cx="22" cy="23.5" r="6" fill="#d98a3d"/>\
</svg>
<h1>{title}</h1>
<p>{advice}</p>
{command}{link}</main>
</body>
</html>
"""


def plain_page(
    title: str,
    advice: str,
    link: tuple[str, str] | None,
    status: int = 200,
    headers: Mapping[str, str] = NO_STORE,
    *,
    command: str = "",
    head: str = "",
) -> Response:
    """A small page with a link.

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
        style=PLAIN_HEAD,
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
