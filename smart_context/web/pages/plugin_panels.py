"""Serves the panels of vault plugins: their pages, and the files next to them."""

import mimetypes
from pathlib import PurePosixPath
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from smart_context.host.panels import PAGE, PanelFiles

FILE_TYPES = frozenset({".js", ".css", ".svg", ".png", ".jpg", ".webp", ".woff2", ".json"})
"""Types of files that a panel's page may load; the plugin's code is not among them."""

_HEADERS = {"Cache-Control": "no-cache"}
_TEXT_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_CHANGED = "This plugin's files changed after you trusted them. Review and trust them again."


class PanelPages(Protocol):
    """What is needed of the host's panels."""

    def page(self, panel_id: str) -> str | PanelFiles | None:
        """The page of a panel, or its files; `None` if it has no page."""


def panel_routes(panels: PanelPages) -> list[BaseRoute]:
    """`/panels/<plugin>/` and the files next to its page, such as `/panels/<plugin>/panel.js`.

    The address without the slash works too, but then relative names in the page do not.
    """

    async def page(request: Request) -> Response:
        registered = panels.page(request.path_params["plugin_id"])
        if registered is None:
            raise HTTPException(404)
        if isinstance(registered, str):
            return HTMLResponse(registered, headers=_HEADERS)
        return HTMLResponse(await run_in_threadpool(_read, registered, PAGE), headers=_HEADERS)

    async def file(request: Request) -> Response:
        registered = panels.page(request.path_params["plugin_id"])
        name: str = request.path_params["name"]
        kind = PurePosixPath(name).suffix
        if not isinstance(registered, PanelFiles) or kind not in FILE_TYPES:
            raise HTTPException(404)
        content = await run_in_threadpool(_read, registered, name)
        media_type = _TEXT_TYPES.get(kind) or mimetypes.guess_type(name)[0]
        return Response(content, media_type=media_type, headers=_HEADERS)

    return [
        Route("/panels/{plugin_id}", page),
        Route("/panels/{plugin_id}/", page),
        Route("/panels/{plugin_id}/{name:path}", file),
    ]


def _read(files: PanelFiles, name: str) -> bytes:
    try:
        return files.read(name)
    except FileNotFoundError as error:
        raise HTTPException(404) from error
    except OSError as error:
        raise HTTPException(403, _CHANGED) from error
