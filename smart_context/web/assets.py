"""Serves styles and scripts; their version is part of their addresses.

A browser keeps the file of an address with a version. It asks again only when the address changes:
after an update, or after a file was edited. So a page that was visited before loads without
requests for these files.
"""

import contextlib
import fnmatch
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from typing_extensions import override

from smart_context.base.resources import asset

KEPT = "private, max-age=31536000, immutable"
"""The `Cache-Control` of a file that was asked for by its version."""

ASKED_ABOUT = "no-cache"
"""The `Cache-Control` of other files: their names don't change with their content."""


_MODULE = re.compile(r'rel="modulepreload" href="/static/joined/([\w-]+)\.js')
_SHEET_ORDER = (
    *("tokens", "base/foundation", "base/layout"),
    *("chat/chats", "chat/messages", "chat/prose", "chat/code", "chat/composer"),
    *("panel/chips", "base/menus", "chat/*"),
    *("pages/contexts", "panel/panel", "panel/*"),
    *("pages/turn", "pages/trust", "pages/*"),
    *("base/touch", "base/print"),
)
"""Later sheets override earlier ones; `*` is the rest of a folder, by name."""


def assets_version(root: Path) -> str:
    """A digest that changes with any file below a folder: its name, size or time.

    It takes 0.5 ms for 120 files, fast enough to be made for each page; so edits are noticed.
    """
    found = []
    folders = [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                    continue
                with contextlib.suppress(FileNotFoundError):  # an editor's temporary file
                    stat = entry.stat()
                    found.append((entry.path, stat.st_size, stat.st_mtime_ns))
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()[:12]


@cache
def page_modules() -> Mapping[str, tuple[str, ...]]:
    """The joined scripts that each page preloads, by the name of its template."""
    pages = sorted((asset("templates") / "pages").glob("*.html"))
    return {page.stem: tuple(_MODULE.findall(page.read_text(encoding="utf-8"))) for page in pages}


def page_scripts(root: Path) -> Sequence[str]:
    """The paths, below the folder of scripts, of the modules that pages begin with."""
    names = sorted({name for modules in page_modules().values() for name in modules})
    found = [path for name in names for path in root.rglob(f"{name}.js")]
    return [path.relative_to(root).as_posix() for path in found]


def style_sheets(root: Path) -> Sequence[str]:
    """The names of all style sheets below a folder, in the order in which pages have them."""
    there = {path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.css")}
    others = sorted(there - {*_SHEET_ORDER})
    return [
        name
        for place in _SHEET_ORDER
        for name in (fnmatch.filter(others, place) if "*" in place else (place,))
    ]


def caching(asked: str, version: str) -> str:
    """The `Cache-Control` of a file.

    Args:
        asked: The version in the address; empty if there is none.
        version: The version of the files, found *before* this file was read. So a file that is
            edited meanwhile may be kept at the address of the previous version, which no page
            uses any more; an old file is never kept at the new address.
    """
    return KEPT if asked and asked == version else ASKED_ABOUT


_FONTS = "fonts/"
_A_WEEK = "private, max-age=604800"
"""The `Cache-Control` of fonts, which style sheets name without a version: a new font gets a new
name."""


class CheckedFiles(StaticFiles):
    """Files that a browser keeps if it asks for their version, and otherwise checks each time."""

    @override
    async def get_response(self, path: str, scope: Any) -> Response:
        """The file."""
        asked = Request(scope).query_params.get("v", "")
        version = await run_in_threadpool(assets_version, asset("static")) if asked else ""
        response = await super().get_response(path, scope)
        is_font = path.startswith(_FONTS)
        response.headers["Cache-Control"] = _A_WEEK if is_font else caching(asked, version)
        if path.endswith(".js"):
            # Some systems map .js to text/plain, and browsers refuse such modules.
            response.headers["Content-Type"] = "text/javascript; charset=utf-8"
        return response


def favicon(_request: Request) -> Response:
    """Redirect to the icon."""
    return RedirectResponse("/static/images/favicon.svg", status_code=301)
