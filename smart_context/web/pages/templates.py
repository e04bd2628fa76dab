"""Renders the templates of the pages."""

import functools
from typing import Any

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from smart_context import __version__
from smart_context.base.resources import asset
from smart_context.base.text.scores import amount_in_words, counted
from smart_context.chat.listed.rows import unmarked
from smart_context.chat.messages import Message
from smart_context.web.assets import assets_version
from smart_context.web.pages.markup.markdown import visible
from smart_context.web.pages.markup.message_html import MessageHtml
from smart_context.web.pages.views import message_views

NO_STORE = {"Cache-Control": "no-store"}


class PageTemplates:
    """The templates, ready to be rendered."""

    def __init__(self, messages: MessageHtml) -> None:
        self._messages = messages
        self._templates = _environment()

    async def page(self, template: str, *, status_code: int = 200, **values: Any) -> Response:
        """Render a template in a thread."""
        page = self._templates.get_template(template)

        def rendered() -> bytes:
            shared = {"assets": assets_version(asset("static"))}
            made = page.render(values, **shared, render_message=self._messages.for_page())
            return made.encode("utf-8", "replace")  # JSON allows lone surrogates, UTF-8 doesn't

        content = await run_in_threadpool(rendered)
        return HTMLResponse(content, status_code=status_code, headers=NO_STORE)


@jinja2.pass_context
def _view(context: jinja2.runtime.Context, message: Message) -> message_views.MessageView:
    return message_views.message_view(message, context["render_message"])


def compile_templates() -> None:
    """Compile every template; else the first page would take 50 ms longer."""
    templates = _environment()
    for name in templates.list_templates(["html"]):
        templates.get_template(name)


@functools.cache  # the same for every host: it holds nothing but the templates
def _environment() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(asset("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters["visible"] = lambda text: visible(str(text))
    templates.filters["unmarked"] = lambda text: unmarked(str(text))
    templates.filters["view"] = _view
    templates.filters["money"] = amount_in_words
    templates.filters["counted"] = counted
    templates.filters["messages"] = lambda count: counted(count, "message")
    templates.globals["version"] = __version__
    return templates
