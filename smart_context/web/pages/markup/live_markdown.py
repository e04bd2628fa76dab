"""Renders parts of an answer while it is being written, for the page that shows it."""

import json

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from smart_context.web.bodies import BodyTooLarge, read_body
from smart_context.web.pages.markup.markdown import Markdown, uncoloured
from smart_context.web.pages.markup.message_html import QUICK_CHARS

_MAX_PARTS = 2
_MAX_BYTES = 8 * _MAX_PARTS * QUICK_CHARS
_HEADERS = {"Cache-Control": "no-store"}


class LiveMarkdown:
    """Answers `POST /markdown`: a JSON list of Markdown texts becomes a list of safe HTML.

    Code gets its colours when the answer is complete.
    """

    def __init__(self) -> None:
        self._markdown = Markdown(uncoloured)

    async def answer(self, request: Request) -> Response:
        """The texts as `<div>`s in one `<div>`."""
        try:
            texts = _texts(await read_body(request, _MAX_BYTES))
        except (BodyTooLarge, TimeoutError):
            texts = None
        if texts is None:
            problem = f"Expected at most {_MAX_PARTS} texts of {QUICK_CHARS:,} characters as JSON."
            return PlainTextResponse(problem, status_code=422, headers=_HEADERS)
        return HTMLResponse(await run_in_threadpool(self._rendered, texts), headers=_HEADERS)

    def _rendered(self, texts: list[str]) -> str:
        parts = (Markup(self._markdown.render(text)) for text in texts)  # noqa: S704  # sanitised
        return Markup("<div>{}</div>").format(
            Markup().join(Markup("<div>{}</div>").format(part) for part in parts)
        )


def _texts(body: bytes) -> list[str] | None:
    try:
        texts = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_list = isinstance(texts, list) and len(texts) <= _MAX_PARTS
    if not is_list or not all(isinstance(t, str) and len(t) <= QUICK_CHARS for t in texts):
        return None
    return list(texts)
