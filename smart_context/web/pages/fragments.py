"""Fragments that pages fetch later: notes, Markdown while it is written, pages of panels."""

import json
import mimetypes
from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath
from typing import NamedTuple

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from smart_context.host.panels import PAGE, PanelFiles, Panels
from smart_context.vault.followed import FollowedVault
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.web.pages.markup.message_html import QUICK_CHARS, markdown_of_parts
from smart_context.web.pages.templates import NO_STORE, PageTemplates
from smart_context.web.request_bodies import BodyTooLarge, read_body

Endpoint = Callable[[Request], Awaitable[Response]]

_MAX_NAME = 500
_MAX_BACKLINKS = 100


class _Note(NamedTuple):
    path: str
    text: str
    backlinks: tuple[str, ...]


def note_page(notes: FollowedVault | None, templates: PageTemplates) -> Endpoint:
    """Answers `GET /notes?note=`: the note that a link's words mean, or 404 and the reason.

    Args:
        notes: The vault's notes; `None`: there are none to show.
    """

    async def answer(request: Request) -> Response:
        name = request.query_params.get("note", "")[:_MAX_NAME]
        note = await notes.ask(lambda index: _found(index, name)) if notes else None
        if note is None:
            missing = f"No note is called “{name}”."
            return PlainTextResponse(missing, status_code=404, headers=NO_STORE)
        return await templates.page(
            "messages/note.html",
            path=note.path,
            title=_title(note.path),
            text=_below_title(note),
            backlinks=[(path, _title(path)) for path in note.backlinks[:_MAX_BACKLINKS]],
        )

    return answer


def _found(index: VaultIndex, name: str) -> _Note | None:
    index.catch_up()
    path = index.names.resolve(name.partition("#")[0].strip(), "").path
    read = index.read(path) if path else None
    if path is None or read is None:
        return None
    text, outline = read
    return _Note(path, text[outline.body :], index.backlinks(path))


def _below_title(note: _Note) -> str:
    # The page has a heading of its own: many notes begin with the same words.
    first, _, rest = note.text.lstrip().partition("\n")
    return rest if first.rstrip() == f"# {_title(note.path)}" else note.text


def _title(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


_MAX_PARTS = 2
_MAX_BYTES = 8 * _MAX_PARTS * QUICK_CHARS


async def live_markdown(request: Request) -> Response:
    """Answers `POST /markdown`: a JSON list of Markdown texts becomes `<div>`s in one `<div>`.

    Code gets its colours when the answer is complete.
    """
    try:
        texts = _texts(await read_body(request, _MAX_BYTES))
    except (BodyTooLarge, TimeoutError):
        texts = None
    if texts is None:
        problem = f"Expected at most {_MAX_PARTS} texts of {QUICK_CHARS:,} characters as JSON."
        return PlainTextResponse(problem, status_code=422, headers=NO_STORE)
    return HTMLResponse(await run_in_threadpool(_rendered, texts), headers=NO_STORE)


def _rendered(texts: list[str]) -> str:
    render = markdown_of_parts().render
    parts = (Markup("<div>{}</div>").format(Markup(render(text))) for text in texts)  # noqa: S704 - sanitised
    return Markup("<div>{}</div>").format(Markup().join(parts))


def _texts(body: bytes) -> list[str] | None:
    try:
        texts = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(texts, list) and len(texts) <= _MAX_PARTS
    if not is_list or not all(isinstance(t, str) and len(t) <= QUICK_CHARS for t in texts):
        return None
    return list(texts)


FILE_TYPES = frozenset({".js", ".css", ".svg", ".png", ".jpg", ".webp", ".woff2", ".json"})
"""Types of files that a panel's page may load; the plugin's code is not among them."""

_HEADERS = {"Cache-Control": "no-cache"}
_TEXT_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_CHANGED = "This plugin's files changed after you trusted them. Review and trust them again."


def panel_routes(panels: Panels) -> list[BaseRoute]:
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
