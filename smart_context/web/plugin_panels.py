"""Panels of other plugins: the page that each registered, and the files beside it."""

import mimetypes
from pathlib import Path
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from smart_context.errors import PathRefused
from smart_context.vault.paths import confine

FILE_TYPES = frozenset({".js", ".css", ".svg", ".png", ".jpg", ".webp", ".woff2", ".json"})
"""What a panel's page may load from its folder; its code is not among it."""

MAX_FILE_BYTES = 8 * 1024 * 1024

_HEADERS = {"Cache-Control": "no-cache"}
_TEXT_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


class Panels(Protocol):
    """What is asked of the host's panels."""

    def page(self, panel_id: str) -> str | Path | None:
        """The page of a panel, or its file; `None` if it has none of its own."""


def panel_routes(panels: Panels) -> list[BaseRoute]:
    """`/panels/<plugin>/` and the files beside its page, such as `/panels/<plugin>/panel.js`.

    The address without the slash works too, but then the page names its files from the top.
    """

    async def page(request: Request) -> Response:
        registered = panels.page(request.path_params["plugin_id"])
        if registered is None:
            raise HTTPException(404)
        if isinstance(registered, str):
            return HTMLResponse(registered, headers=_HEADERS)
        return HTMLResponse(await run_in_threadpool(_read, registered), headers=_HEADERS)

    async def file(request: Request) -> Response:
        registered = panels.page(request.path_params["plugin_id"])
        name = request.path_params["name"]
        if not isinstance(registered, Path) or Path(name).suffix not in FILE_TYPES:
            raise HTTPException(404)
        try:
            path = confine(registered.parent, name)
        except PathRefused as error:
            raise HTTPException(404) from error
        content = await run_in_threadpool(_read, path)
        kind = _TEXT_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
        return Response(content, media_type=kind, headers=_HEADERS)

    return [
        Route("/panels/{plugin_id}", page),
        Route("/panels/{plugin_id}/", page),
        Route("/panels/{plugin_id}/{name:path}", file),
    ]


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise HTTPException(413)
        return path.read_bytes()
    except OSError as error:
        raise HTTPException(404) from error
