"""Serves styles and scripts."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from typing_extensions import override

_ENTER = "pages/enter.js"
_AT_ONCE = "max-age=0, stale-while-revalidate=604800"
"""Every page waits for the entrance's script: a browser checks its copy while it uses it."""


class CheckedFiles(StaticFiles):
    """Files that browsers check each time: their names don't change with their content."""

    @override
    async def get_response(self, path: str, scope: Any) -> Response:
        """The file."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = _AT_ONCE if path == _ENTER else "no-cache"
        if path.endswith(".js"):
            # Some systems map .js to text/plain, and browsers refuse such modules.
            response.headers["Content-Type"] = "text/javascript; charset=utf-8"
        return response


def favicon(_request: Request) -> Response:
    """Redirect to the icon."""
    return RedirectResponse("/static/images/favicon.svg", status_code=301)
