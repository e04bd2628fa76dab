"""Renders the templates of the pages."""

import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from smart_context import __version__
from smart_context.base.resources import asset
from smart_context.base.text.scores import amount_in_words, counted
from smart_context.chat.listed.rows import unmarked
from smart_context.chat.messages import Message
from smart_context.importing.programs import WHERE
from smart_context.web.assets import assets_version, caching
from smart_context.web.pages.markup.footnotes import with_ids
from smart_context.web.pages.markup.markdown import visible
from smart_context.web.pages.markup.message_html import MessageHtml
from smart_context.web.pages.views import message_views
from smart_context.web.pages.views.settings_view import STRICTNESS, TITLES, setting_id

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


def _icons() -> Markup:
    """The icons, as a part of each page: a file of their own would come after the text."""
    drawn = (asset("static") / "images" / "icons.svg").read_text("utf-8")
    named = drawn.replace('<symbol id="', '<symbol id="icon-')
    hidden = named.replace("<svg ", '<svg class="icons" aria-hidden="true" ', 1)
    return Markup(hidden)  # noqa: S704 - our own file


@functools.cache  # the same for every host: it holds the templates only
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
    templates.filters["with_ids"] = with_ids
    templates.filters["money"] = amount_in_words
    templates.filters["counted"] = counted
    templates.filters["messages"] = lambda count: counted(count, "message")
    templates.globals["version"] = __version__
    templates.globals["icons"] = _icons()
    templates.filters["setting_id"] = setting_id
    templates.globals["strictness"] = STRICTNESS
    templates.globals["chats_of"] = WHERE
    templates.globals["setting_titles"] = TITLES
    return templates


_IMPORT = re.compile(
    r'^import (?:\{(?P<names>[^{}]*)\} from )?"(?P<path>\.[^"]+)";[ \t]*\n', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?P<kind>async function|function|class|const) (?P<name>\w+)", re.MULTILINE
)
_BETWEEN = re.compile(r"\W")
_OTHER = re.compile(r"^(?:export|import)\b.*", re.MULTILINE)


def joined_script(root: Path, entry: str) -> str:
    """One script with the effect of the module `entry` and all modules that it imports.

    Each module becomes a function of its own that returns what it exports, so names can't clash.

    Args:
        root: The folder that the modules are below.
        entry: A module's path, relative to the folder.

    Raises:
        ValueError: If modules import each other in a circle, or in a way that isn't understood.
    """
    modules: dict[str, str] = {}
    _join(root, entry, modules, ())
    return "".join(modules.values())


def _join(root: Path, path: str, modules: dict[str, str], importers: tuple[str, ...]) -> str:
    """Add a module after all that it imports; returns the name of its exports."""
    name = "$" + _BETWEEN.sub("_", path.removesuffix(".js"))
    if path in importers:
        raise ValueError(f"{' imports '.join((*importers, path))}: modules can't form a circle")
    if path in modules:
        return name
    text = (root / path).read_text(encoding="utf-8")

    def imported(match: re.Match[str]) -> str:
        target = _resolved(path, match["path"])
        exports = _join(root, target, modules, (*importers, path))
        if match["names"] is None:
            return ""
        return f"const {{{match['names'].replace(' as ', ': ')}}} = {exports};\n"

    body = _IMPORT.sub(imported, text)
    exported = ", ".join(match["name"] for match in _EXPORT.finditer(body))
    body = _EXPORT.sub(r"\g<kind> \g<name>", body)
    if unknown := _OTHER.search(body):
        raise ValueError(f"{path}: expected 'import {{…}}' or 'export const', found {unknown[0]!r}")
    modules[path] = f"const {name} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"
    return name


def _resolved(importer: str, path: str) -> str:
    parts: list[str] = []
    for part in PurePosixPath(importer).parent.joinpath(path).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


class Bundles:
    """Serves joined files by name.

    Args:
        root: The folder of scripts and styles.
        sheets: The paths of the style sheets in `css/`, in order.
        scripts: The paths of the modules that pages begin with.
    """

    def __init__(self, root: Path, *, sheets: Sequence[str], scripts: Sequence[str]) -> None:
        self._root = root
        self._made: dict[str, tuple[str, bytes]] = {}
        self._makers: Mapping[str, Callable[[], str]] = {
            "pages.css": lambda: "\n".join(self._read(f"css/{name}.css") for name in sheets),
            **{PurePosixPath(path).name: partial(joined_script, root, path) for path in scripts},
        }

    async def answer(self, request: Request) -> Response:
        """The joined file, or 304 if the browser has it."""
        name = request.path_params["name"]
        if name not in self._makers:
            return PlainTextResponse("Not found.", status_code=404)
        version = await run_in_threadpool(assets_version, self._root)
        content = await run_in_threadpool(self._content, name, version)
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        asked = request.query_params.get("v", "")
        headers = {"Cache-Control": caching(asked, version), "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(content, headers=headers, media_type=kind)

    def _content(self, name: str, version: str) -> bytes:
        made = self._made.get(name)
        if made is None or made[0] != version:
            made = self._made[name] = (version, self._makers[name]().encode())
        return made[1]

    def _read(self, path: str) -> str:
        return (self._root / path).read_text(encoding="utf-8")
