"""Serves styles and scripts."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from typing_extensions import override

from smart_context.base.resources import asset
from smart_context.web.assets import assets_version, caching

_FONTS = "fonts/"
_A_WEEK = "private, max-age=604800"
"""Style sheets name fonts without a version; a new font gets a new name."""


class CheckedFiles(StaticFiles):
    """Files that a browser keeps if it asks for this version of them, and else checks each time."""

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
