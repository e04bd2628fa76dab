"""The pages and the pieces of pages that the scripts fetch: HTML made on the server.

    /                               the newest chat
    /new                            a chat that does not exist yet
    /chats                          the list of chats, as a fragment
    /chats/{id}                     one chat with the panel beside it
    /chats/{id}/messages            messages, as a fragment
    /chats/{id}/text?message=       one message as it was written
    /chats/{id}/turns/{turn}        the receipt of one turn: ?diff= compares it, ?replay= replays it
    /panels/smart_context?chat_id=  the panel alone
    /contexts?chat=                 a named context that is not saved yet
    /contexts/{key}?chat=           a named context, to be looked at and changed
    /static/…                       styles and scripts

Everything is readable before any script runs. What is shown of messages and labels is escaped or
sanitised here; the content security policy that the gate sends stands behind that.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import anyio
import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from smart_context import __version__
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.chat.messages import Message, messages_of
from smart_context.chat.store import ChatStore
from smart_context.errors import ChatIdInvalid, SmartContextError, UnknownCommand
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.processes.child import Child
from smart_context.resources import asset
from smart_context.web.gate.entrance import SHEETS
from smart_context.web.gate.gate import admitted
from smart_context.web.limits import MAX_UPLOAD_BYTES
from smart_context.web.pages import message_views, panel_view, turn_view
from smart_context.web.pages.markdown import visible
from smart_context.web.pages.message_html import MessageHtml
from smart_context.web.pages.summary_views import compaction_view

_HEADERS = {"Cache-Control": "no-store"}
_FILTER_PATIENCE_S = 0.4
"""How long a page waits for the filter; the script asks again when that was not enough."""

_LISTED_CHATS = 500


class PageHost(Protocol):
    """What pages need of the host."""

    @property
    def store(self) -> ChatStore:
        """The chats."""
        ...

    @property
    def commands(self) -> CommandRegistry:
        """The commands."""
        ...


def page_routes(host: PageHost, child: Child | None = None) -> list[BaseRoute]:
    """Every page, ready to be served; the caller adds security in front of them.

    Args:
        host: Whose chats are shown.
        child: Where messages are rendered that may take long; `None` renders all of them here.
    """
    pages = _Pages(host, child)
    return [
        Route("/", pages.home),
        Route("/new", pages.new_chat),
        Route("/chats", pages.chat_list),
        Route("/chats/{chat_id}", pages.chat),
        Route("/chats/{chat_id}/messages", pages.messages),
        Route("/chats/{chat_id}/text", pages.text),
        Route("/chats/{chat_id}/turns/{turn}", pages.turn),
        Route("/panels/smart_context", pages.panel),
        Route("/contexts", pages.contexts),
        Route("/contexts/{key:path}", pages.contexts),
        Route("/favicon.ico", _favicon),
        Mount("/static", _Static(directory=asset("static")), name="static"),
    ]


class _Pages:
    def __init__(self, host: PageHost, child: Child | None) -> None:
        self._store = host.store
        self._commands = host.commands
        self._messages = MessageHtml(child)
        self._templates = _templates()

    async def home(self, _request: Request) -> Response:
        chats = await self._store.listing.rows()
        return RedirectResponse(f"/chats/{chats[0].id}" if chats else "/new", status_code=303)

    async def new_chat(self, _request: Request) -> Response:
        return RedirectResponse(f"/chats/{new_chat_id()}", status_code=303)

    async def chat(self, request: Request) -> Response:
        chat_id = request.path_params["chat_id"]
        document, problem = await self._load(chat_id)
        if document is None:
            return await self._failed(problem)
        messages, panel, chats = await asyncio.gather(
            run_in_threadpool(self._window_values, document, request),
            self._panel(chat_id, document),
            self._store.listing.rows(),
        )
        return await self._page(
            "chat.html",
            chat_id=chat_id,
            title=next((chat.title for chat in chats if chat.id == chat_id), ""),
            chats=chats[:_LISTED_CHATS],
            panel=panel,
            max_file_bytes=MAX_UPLOAD_BYTES,
            **messages,
            system=await self._ask("system.status", {}),
            trust=await self._ask("system.trust", {}),
        )

    async def messages(self, request: Request) -> Response:
        document, problem = await self._load(request.path_params["chat_id"])
        if document is None:
            return PlainTextResponse(problem, status_code=404, headers=_HEADERS)
        return await self._page(
            "messages.html",
            panel=None,
            **await run_in_threadpool(self._window_values, document, request),
        )

    async def text(self, request: Request) -> Response:
        document, problem = await self._load(request.path_params["chat_id"])
        wanted = request.query_params.get("message")
        found = next((m for m in messages_of(document or {}) if m.id == wanted), None)
        if found is None:
            missing = problem or "This chat has no such message."
            return PlainTextResponse(missing, status_code=404, headers=_HEADERS)
        return PlainTextResponse(found.text, headers=_HEADERS)

    async def turn(self, request: Request) -> Response:
        chat_id, turn = request.path_params["chat_id"], request.path_params["turn"]
        settings = turn_view.replay_settings(request.query_params)
        compared = request.query_params.get("diff")
        named = {"chat_id": chat_id, "turn": turn}
        if settings is not None:
            shown = await self._ask("smart_context.replay", {**named, **settings})
        else:
            compare = {"diff": compared} if compared else {}
            shown = await self._ask("smart_context.receipt", {**named, **compare})
        if shown is None or "turn" not in shown:
            return await self._failed((shown or {}).get("problem", "Smart Context is turned off."))
        known = await self._ask("smart_context.receipts", {"chat_id": chat_id}) or {}
        shown_topics = await self._ask("smart_context.get_topics", {"chat_id": chat_id}) or {}
        topics = shown_topics.get("topics", ())  # none when they can't be had
        return await self._page(
            "turn.html",
            chat_id=chat_id,
            view=turn_view.turn_view(shown, is_replay=settings is not None),
            others=[r for r in known.get("receipts", ()) if r["turn"] != shown["turn"]],
            compared=compared,
            topics=turn_view.topic_choices(shown["settings"]["topics"], topics),
            most=turn_view.MAX_ROWS,
            trust=await self._ask("system.trust", {}),
        )

    async def chat_list(self, request: Request) -> Response:
        query = request.query_params.get("q", "").strip()
        current = request.query_params.get("current", "")
        if query:
            hits = await self._store.listing.search(query)
            return await self._page("chat_hits.html", hits=hits, query=query)
        chats = await self._store.listing.rows()
        return await self._page("chat_list.html", chats=chats[:_LISTED_CHATS], chat_id=current)

    async def panel(self, request: Request) -> Response:
        chat_id = request.query_params.get("chat_id", "")
        if not chat_id:
            chats = await self._store.listing.rows()
            chat_id = str(chats[0].id) if chats else ""
        document, problem = await self._load(chat_id) if chat_id else ({}, "")
        if document is None:
            return await self._failed(problem)
        return await self._page(
            "panel.html",
            chat_id=chat_id,
            panel=await self._panel(chat_id, document),
            system=await self._ask("system.status", {}),
        )

    async def contexts(self, request: Request) -> Response:
        listed = await self._ask("smart_context.list_contexts", {})
        chats = await self._store.listing.rows()
        asked = request.query_params.get("chat", "")
        return await self._page(
            "contexts.html",
            key=request.path_params.get("key", ""),
            chat_id=asked if _is_chat_id(asked) else "",
            contexts=None if listed is None else listed.get("contexts", []),
            chats=chats[:_LISTED_CHATS],
            system=await self._ask("system.status", {}),
            trust=await self._ask("system.trust", {}),
        )

    def _window_values(self, document: Mapping[str, Any], request: Request) -> dict[str, Any]:
        messages = messages_of(document)
        window = _window(messages, request)
        self._messages.expect(message.text for message in window.messages)
        return {
            "window": window,
            "older_digest": message_views.digest(messages[: window.older]),
            "total": len(messages),
            "compaction": compaction_view(messages, window.messages),
            "file_pass": admitted(request.scope).file_pass,
        }

    async def _load(self, chat_id: str) -> tuple[dict[str, Any] | None, str]:
        """The chat's document, or `None` and why not."""
        try:
            return await self._store.load(check_chat_id(chat_id)), ""
        except ChatIdInvalid:
            return None, "There is no chat at this address. The list of chats has them all."
        except SmartContextError as error:
            return None, str(error)

    async def _panel(
        self, chat_id: str, document: Mapping[str, Any]
    ) -> panel_view.PanelView | None:
        """The panel; `None` when the plugin is turned off."""
        # Until the filter has answered, what is picked is not known, and not guessed.
        stored = document.get("topics")
        known: dict[str, Any] = {"topics": stored if isinstance(stored, list) else []}
        with anyio.move_on_after(_FILTER_PATIENCE_S):
            answer = await self._ask("smart_context.get_topics", {"chat_id": chat_id})
            if answer is None:
                return None
            known |= answer
        return panel_view.panel_view(known)

    async def _ask(self, command: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            return dict(await self._commands.call(command, params, Caller(client=None)))
        except UnknownCommand:
            return None
        except SmartContextError as error:
            return {"problem": str(error)}

    async def _failed(self, problem: str) -> Response:
        return await self._page("failed.html", status_code=404, problem=problem)

    async def _page(self, template: str, *, status_code: int = 200, **values: Any) -> Response:
        page = self._templates.get_template(template)
        content = await run_in_threadpool(
            lambda: page.render(values, render_message=self._messages.for_page())
        )
        return HTMLResponse(content, status_code=status_code, headers=_HEADERS)


class _Static(StaticFiles):
    """Files that browsers ask about each time: their names don't change with their content."""

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        if path.endswith(".js"):
            # Some systems map .js to text/plain, and then no module would run.
            response.headers["Content-Type"] = "text/javascript; charset=utf-8"
        return response


def _is_chat_id(text: str) -> bool:
    try:
        check_chat_id(text)
    except ChatIdInvalid:
        return False
    return True


def _favicon(_request: Request) -> Response:
    return RedirectResponse("/static/favicon.svg", status_code=301)


def _window(messages: Sequence[Message], request: Request) -> message_views.Window:
    asked = request.query_params
    size = _limit(asked.get("limit", ""))
    choices: Mapping[str, Callable[[str], message_views.Window]] = {
        "ids": lambda _: message_views.chosen(messages, _ids(asked.getlist("ids"))),
        "before": lambda at: message_views.before(messages, at, size),
        "since": lambda at: message_views.since(messages, at),
        "at": lambda at: message_views.around(messages, at),
    }
    for name, choose in choices.items():
        if value := asked.get(name):
            return choose(value)
    return message_views.newest(messages, size)


def _limit(text: str) -> int:
    """How many messages are wanted: the usual number unless it says another."""
    digits = text if text.isascii() and text.isdecimal() else ""
    # A number of many digits costs quadratic time to read.
    wanted = int(digits[:6] or message_views.PAGE_MESSAGES)
    return min(max(wanted, 1), message_views.MAX_PAGE_MESSAGES)


def _ids(values: Sequence[str]) -> list[str]:
    """Ids given one by one or joined by commas."""
    return [message_id for value in values for message_id in (value, *value.split(","))]


@jinja2.pass_context
def _view(context: jinja2.runtime.Context, message: Message) -> message_views.MessageView:
    return message_views.message_view(message, context["render_message"])


def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(asset("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters["visible"] = lambda text: visible(str(text))
    templates.filters["view"] = _view
    templates.filters["messages"] = panel_view.messages_counted
    templates.globals["version"] = __version__
    templates.globals["sheets"] = SHEETS
    return templates
