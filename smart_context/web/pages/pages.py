"""The pages, and the fragments that scripts fetch: HTML made on the server.

    /                               the newest chat
    /new                            a new chat
    /chats                          the list of chats, as a fragment
    /chats/{id}                     one chat with the panel next to it
    /chats/{id}/messages            messages, as a fragment
    /chats/{id}/text?message=       one message as it was written
    /notes?note=                    a note, read-only, as a fragment
    /markdown                       parts of an answer that is being written, as HTML
    /chats/{id}/turns/{turn}        the receipt of one turn: ?diff= compares it, ?replay= replays it
    /panels/smart_context?chat_id=  the panel alone
    /clients                        connecting other programs, and their keys
    /settings                       connecting a model, and all settings
    /topics                         what all chats are about: a map, a list, their messages
    /trash                          the trash, over the newest chat; /trash/list is its fragment
    /costs                          what the chats cost: by day, model, chat and client
    /contexts?chat=                 a new named context
    /contexts/{key}?chat=           a named context, to view and change
    /static/joined/{name}                  all styles, or all scripts of a page, as one file
    /static/…                       styles and scripts

Everything is readable before any script runs. Messages and labels are escaped or sanitised here;
the content security policy is a second line of defence.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

from cachetools import LRUCache
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from smart_context.base.errors import ChatIdInvalid, SmartContextError, StoreFailed
from smart_context.base.processes.child import Child
from smart_context.base.resources import asset
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.clients import is_of_client
from smart_context.chat.documents.branches import branches_of, unreachable, versions_of
from smart_context.chat.exported import ENDINGS, Form, embedded, exported, file_name
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.chat.listed.rows import ChatRow
from smart_context.chat.messages import PRIVATE, Message, instructions_in, messages_of
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host
from smart_context.host.models import choice_in
from smart_context.llm.offline.stored import guide_in
from smart_context.vault.followed import FollowedVault
from smart_context.web.assets import CheckedFiles, favicon, page_scripts, style_sheets
from smart_context.web.gate.gate import admitted
from smart_context.web.limits import MAX_UPLOAD_BYTES
from smart_context.web.pages.fragments import live_markdown, note_page
from smart_context.web.pages.markup.message_html import MessageHtml
from smart_context.web.pages.smart_context import SmartContextCommands
from smart_context.web.pages.templates import NO_STORE, Bundles, PageTemplates
from smart_context.web.pages.views import message_views, turn_view
from smart_context.web.pages.views.chat_groups import (
    ChatGroup,
    chat_groups,
    hits_view,
    relatives_of,
)
from smart_context.web.pages.views.message_states import message_states, window_asked_for
from smart_context.web.pages.views.message_views import SPEAKERS, compaction_view
from smart_context.web.pages.views.settings_view import fields_by_section

MAX_CHARACTERS = 2_000
"""Longer messages of a version are cut; the chat's file has all of them."""


def other_versions(document: Mapping[str, Any]) -> list[JsonObject]:
    """The versions that can't be made the current one, newest first, as plain text.

    These are versions of a program that keeps its own history, and versions after a message that no
    longer exists.
    """
    shown = branches_of(document) if is_of_client(document) else unreachable(document)
    return [
        {
            "created_at": created if isinstance(created := branch.get("created_at"), str) else "",
            "messages": [
                {"speaker": SPEAKERS[message.role], "text": message.text[:MAX_CHARACTERS]}
                for message in messages_of(branch)
                if message.text
            ],
        }
        for branch in shown
    ]


T = TypeVar("T")

_LISTED_CHATS = 500
_NEW, _NEW_S = "smart_context_new", 24 * 3600
"""The cookie that marks a chat's page as a new one, and its duration in seconds."""

_COUNT = re.compile("[0-9]{1,6}")
_EXPORTED: Mapping[Form, str] = {
    "markdown": "text/markdown",
    "json": "application/json",
    "openai": "application/json",
    "html": "application/octet-stream",  # a file to keep, never a page of this server
}
_NEW_CHATS = 1_000
_UNKNOWN_CHAT = (
    "There is no chat at this address. It may have been deleted, or the link is incomplete."
)


def page_routes(
    host: Host, child: Child | None = None, notes: FollowedVault | None = None
) -> list[BaseRoute]:
    """The routes of all pages, without access control.

    Args:
        child: A process for rendering that may take long; `None` renders everything here.
        notes: The notes that links lead to; `None`: links lead nowhere.
    """
    messages = MessageHtml(child)
    templates = PageTemplates(messages)
    pages = _Pages(host, messages, templates)
    static = asset("static")
    bundles = Bundles(static, sheets=style_sheets(static / "css"), scripts=page_scripts(static))
    return [
        Route("/", pages.home),
        Route("/new", pages.new_chat),
        Route("/chats", pages.chat_list),
        Route("/chats/{chat_id}", pages.chat),
        Route("/chats/{chat_id}/messages", pages.messages),
        Route("/chats/{chat_id}/text", pages.text),
        Route("/chats/{chat_id}/export", pages.export),
        Route("/chats/{chat_id}/turns/{turn}", pages.turn),
        Route("/notes", note_page(notes, templates)),
        Route("/markdown", live_markdown, methods=["POST"]),
        Route("/panels/smart_context", pages.panel),
        Route("/trash", pages.open_trash),
        Route("/trash/list", pages.trash),
        Route("/clients", pages.clients),
        Route("/settings", pages.settings),
        Route("/costs", pages.costs),
        Route("/topics", pages.topics),
        Route("/contexts", pages.contexts),
        Route("/contexts/{key:path}", pages.contexts),
        Route("/favicon.ico", favicon),
        Route("/static/joined/{name}", bundles.answer),
        Mount("/static", CheckedFiles(directory=static), name="static"),
    ]


async def unknown_address(_request: Request) -> Response:
    """The page for an unknown address, in the style of the others."""
    return await PageTemplates(MessageHtml(None)).page(
        "pages/failed.html",
        status_code=404,
        title="There is nothing here",
        problem="This address leads to no page. It may have been moved or deleted.",
    )


class _Pages:
    def __init__(self, host: Host, messages: MessageHtml, templates: PageTemplates) -> None:
        self._reading = host.reading
        self._commands = host.commands
        self._turns = host.turns
        self._messages = messages
        self._page = templates.page
        # A chat gets its file with its first message; until then only these ids are known.
        self._new: LRUCache[tuple[PersonId, str], bool] = LRUCache(_NEW_CHATS)

    async def home(self, request: Request) -> Response:
        newest = await self._newest_chat_id(_caller(request))
        return RedirectResponse(f"/chats/{newest}" if newest else "/new", status_code=303)

    async def new_chat(self, request: Request) -> Response:
        chat_id = new_chat_id()
        self._new[_caller(request).person, chat_id] = True
        address = f"/chats/{chat_id}"
        response = RedirectResponse(address, status_code=303)
        # The page may be asked of another server of the team, which has not heard of the id.
        response.set_cookie(_NEW, chat_id, _NEW_S, path=address, httponly=True, samesite="strict")
        return response

    async def chat(self, request: Request) -> Response:
        chat_id, caller = request.path_params["chat_id"], _caller(request)
        found, problem = await self._parts(caller, chat_id)
        if found is None:
            return await self._failed(problem)
        document = found[1]
        messages, panel, chats = await asyncio.gather(
            run_in_threadpool(self._window_values, *found, request, is_page=True),
            self._plugin(request).panel(chat_id, document.get("topics")),
            self._reading.rows(caller),
        )
        row = next((chat for chat in chats if chat.id == chat_id), None)
        is_new = (caller.person, chat_id) in self._new or request.cookies.get(_NEW) == chat_id
        is_known = row is not None or messages["total"] or is_new
        if not is_known and not await self._plugin(request).has_recalls(chat_id):
            return await self._failed(_UNKNOWN_CHAT, title="Chat not found")
        return await self._page(
            "pages/chat.html",
            chat_id=chat_id,
            title=row.title if row else "",
            instructions=instructions_in(document),
            is_private=document.get(PRIVATE) is True,
            has_own_model=bool(choice_in(document)),
            chat_groups=_groups(chats),
            further=len(chats) - _LISTED_CHATS,
            panel=panel,
            other_versions=other_versions(document),
            client=row.client if row and is_of_client(document) else "",
            relatives=relatives_of(document, {chat.id: chat.title for chat in chats}),
            guide=guide_in(document) if panel is not None else {},
            max_file_bytes=MAX_UPLOAD_BYTES,
            states=message_states(messages["window"].messages, panel, messages["compaction"]),
            far_states=messages["far"]
            and message_states(messages["far"].messages, panel, messages["far_compaction"]),
            sharing=_sharing(row, caller) if _me(request) else None,
            has_notes=messages["total"] > 0 or await self._plugin(request).has_notes(),
            folder="" if chats else await self._folder(request),
            **messages,
            **await self._listing(request, chats),
            **await self._system(request, chat_id),
        )

    async def messages(self, request: Request) -> Response:
        found, problem = await self._parts(_caller(request), request.path_params["chat_id"])
        if found is None:
            return PlainTextResponse(problem, status_code=404, headers=NO_STORE)
        values = await run_in_threadpool(self._window_values, *found, request)
        states = message_states(values["window"].messages, None, values["compaction"], folds=False)
        return await self._page("messages/messages.html", states=states, **values)

    async def export(self, request: Request) -> Response:
        """A chat as a file, to be kept elsewhere, in one of the forms of `exported`."""
        document, problem = await self._load(_caller(request), request.path_params["chat_id"])
        if not document or not messages_of(document):
            missing = problem or "There is nothing to export in this chat."
            return PlainTextResponse(missing, status_code=404, headers=NO_STORE)
        wanted = request.query_params.get("as", "markdown")
        form = cast("Form", wanted) if wanted in ENDINGS else "markdown"
        chat_id = request.path_params["chat_id"]  # checked before
        render = self._messages.for_page()
        attached = (
            await embedded(document, partial(self._attached, request)) if form == "html" else {}
        )
        chosen: JsonObject = {}
        if form == "json":
            try:
                chosen = await self._reading.choices(_caller(request), chat_id)
            except StoreFailed as error:
                return PlainTextResponse(str(error), status_code=409, headers=NO_STORE)
        text = await run_in_threadpool(exported, chat_id, document, form, render, attached, chosen)
        name = quote(file_name(chat_id, document, form), safe="")
        return Response(
            text,
            media_type=_EXPORTED[form],
            headers={**NO_STORE, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
        )

    async def _attached(self, request: Request, key: str) -> bytes | None:
        found = await self._reading.file(_caller(request), key)
        return None if found is None else found[1]

    async def text(self, request: Request) -> Response:
        document, problem = await self._load(_caller(request), request.path_params["chat_id"])
        wanted = request.query_params.get("message")
        found = next((m for m in messages_of(document or {}) if m.id == wanted), None)
        if found is None:
            missing = problem or "Message not found in this chat."
            return PlainTextResponse(missing, status_code=404, headers=NO_STORE)
        return PlainTextResponse(found.text, headers=NO_STORE)

    async def turn(self, request: Request) -> Response:
        chat_id, turn = request.path_params["chat_id"], request.path_params["turn"]
        settings = turn_view.replay_settings(request.query_params)
        compared = request.query_params.get("diff") or None
        plugin = self._plugin(request)
        shown = await plugin.turn(chat_id, turn, compared=compared, replayed=settings)
        if "turn" not in shown:
            return await self._failed(str(shown.get("problem", "")))
        chat = await plugin.chat_of_turn(chat_id)
        return await self._page(
            "pages/turn.html",
            chat_id=chat_id,
            view=turn_view.turn_view(shown, chat, is_replay=settings is not None),
            others=[receipt for receipt in chat.receipts if receipt["turn"] != shown["turn"]],
            compared=compared,
            trust=await plugin.ask("system.trust", {}),
        )

    async def chat_list(self, request: Request) -> Response:
        query = request.query_params.get("q", "").strip()
        current = request.query_params.get("current", "")
        if query:
            hits = await self._reading.search(_caller(request), query)
            chats = await self._reading.rows(_caller(request))
            return await self._page("frame/chat_hits.html", **hits_view(hits, query, chats, _now()))
        chats = await self._reading.rows(_caller(request))
        most = _number(request.query_params.get("most", ""))
        return await self._page(
            "frame/chat_list.html",
            chat_groups=_groups(chats, most),
            further=len(chats) - most,
            chat_id=current,
            **await self._listing(request, chats),
        )

    async def open_trash(self, request: Request) -> Response:
        """The newest chat, over which the trash is opened."""
        newest = await self._newest_chat_id(_caller(request))
        address = f"/chats/{newest}?show=trash" if newest else "/new"
        return RedirectResponse(address, status_code=303)

    async def trash(self, request: Request) -> Response:
        try:
            found, total = await self._reading.deleted(_caller(request))
        except SmartContextError as error:
            return PlainTextResponse(str(error), status_code=500, headers=NO_STORE)
        return await self._page("frame/trash_list.html", deleted=found, total=total)

    async def panel(self, request: Request) -> Response:
        caller, plugin = _caller(request), self._plugin(request)
        chat_id = request.query_params.get("chat_id") or await self._newest_chat_id(caller)
        document, problem = await self._load(caller, chat_id) if chat_id else ({}, "")
        if document is None:
            return await self._failed(problem)
        panel = await plugin.panel(chat_id, document.get("topics"))
        system = await plugin.ask("system.status", {})
        return await self._page(
            "pages/panel.html",
            chat_id=chat_id,
            panel=panel,
            system=system,
            is_guest=_is_guest(request),
        )

    async def contexts(self, request: Request) -> Response:
        asked = request.query_params.get("chat", "")
        chats = await self._reading.rows(_caller(request))
        return await self._page(
            "pages/contexts.html",
            key=request.path_params.get("key", ""),
            chat_id=asked if _is_chat_id(asked) else "",
            contexts=await self._plugin(request).contexts(),
            chats=chats[:_LISTED_CHATS],
            **await self._system(request),
        )

    async def clients(self, request: Request) -> Response:
        view = await self._plugin(request).ask("system.clients", {"origin": str(request.base_url)})
        titles = {row.id: row.title for row in await self._reading.rows(_caller(request))}
        system = await self._system(request)
        return await self._page("pages/clients.html", view=view, titles=titles, **system)

    async def settings(self, request: Request) -> Response:
        view = await self._plugin(request).ask("system.settings", {})
        if view and "problem" in view:  # a file at fault, or somebody else than the owner asks
            return await self._failed(view["problem"], title="The settings can't be shown")
        fields = fields_by_section(view) if view else {}
        system = await self._system(request)
        return await self._page("pages/settings.html", view=view, fields=fields, **system)

    async def costs(self, request: Request) -> Response:
        view = await self._plugin(request).ask("smart_context.costs", {})
        return await self._page("pages/costs.html", view=view, **await self._system(request))

    async def topics(self, request: Request) -> Response:
        return await self._page("pages/topics.html", **await self._system(request))

    def _plugin(self, request: Request) -> SmartContextCommands:
        return SmartContextCommands(self._commands, _caller(request))

    async def _folder(self, request: Request) -> str:
        """The folder of the vault; empty for other people than the owner."""
        view = await self._plugin(request).ask("system.settings", {})
        return str(Path(view["files"]["vault"]).parent) if view and "files" in view else ""

    async def _system(self, request: Request, chat_id: str | None = None) -> dict[str, Any]:
        """The state of the server in the frame of each page, with the model of a chat."""
        plugin = self._plugin(request)
        return {
            "system": await plugin.ask("system.status", {"chat_id": chat_id}),
            "trust": await plugin.ask("system.trust", {}),
            "is_guest": _is_guest(request),
        }

    async def _listing(self, request: Request, chats: Sequence[ChatRow]) -> dict[str, Any]:
        """The list's reader, the names of people who share its chats, and chats being answered."""
        me = _me(request)
        people = {chat.person for chat in chats if chat.shared} if me else set()
        return {
            "me": me,
            "names": await self._reading.names(people),
            "answering": {chat.id for chat in chats if self._turns.is_answered(chat.id)},
        }

    async def _newest_chat_id(self, caller: Caller) -> str:
        chats = await self._reading.rows(caller)
        return str(chats[0].id) if chats else ""

    def _window_values(
        self,
        messages: Sequence[Message],
        document: Mapping[str, Any],
        request: Request,
        *,
        is_page: bool = False,
    ) -> dict[str, Any]:
        window = window_asked_for(messages, request.query_params)
        far = None  # a run far up is shown above the newest one
        if is_page and not window.is_newest and "before" not in request.query_params:
            far, window = window, window_asked_for(messages, QueryParams())
        self._messages.expect(message.text for message in window.messages)
        return {
            "window": window,
            "far": far,
            "far_compaction": far and compaction_view(messages, far.messages),
            "older_digest": message_views.digest(messages[: window.older]),
            "total": len(messages),
            "compaction": compaction_view(messages, window.messages),
            "versions": versions_of(document),
            "may_switch": not is_of_client(document),
            "is_of_client": is_of_client(document),
            "file_pass": admitted(request.scope).file_pass,
        }

    async def _parts(
        self, caller: Caller, chat_id: str
    ) -> tuple[tuple[tuple[Message, ...], JsonObject] | None, str]:
        """A chat's messages and document, or `None` and the reason."""
        return await _or_why(self._reading.parts, caller, chat_id)

    async def _load(self, caller: Caller, chat_id: str) -> tuple[JsonObject | None, str]:
        """The chat's document, or `None` and the reason."""
        return await _or_why(self._reading.document, caller, chat_id)

    async def _failed(self, problem: str, title: str = "") -> Response:
        return await self._page("pages/failed.html", status_code=404, problem=problem, title=title)


async def _or_why(
    read: Callable[[Caller, str], Awaitable[T]], caller: Caller, chat_id: str
) -> tuple[T | None, str]:
    """The result of reading a chat, or `None` and the reason."""
    try:
        return await read(caller, check_chat_id(chat_id)), ""
    except ChatIdInvalid:
        return None, _UNKNOWN_CHAT
    except SmartContextError as error:
        return None, str(error)


def _caller(request: Request) -> Caller:
    return Caller(admitted(request.scope).person)


def _is_guest(request: Request) -> bool:
    """True unless the person owns the installation; guests may not change its settings."""
    return _caller(request).person != OWNER


def _me(request: Request) -> dict[str, Any] | None:
    """The person who reads the page; `None` if there is only one person."""
    let_in = admitted(request.scope)
    if not let_in.name:
        return None
    return {"person": let_in.person, "name": let_in.name, "may_log_out": let_in.may_log_out}


def _sharing(row: ChatRow | None, caller: Caller) -> dict[str, Any]:
    """The sharing of a chat: on or off, and its person; a chat without messages is its reader's."""
    person = row.person if row else caller.person
    return {"on": bool(row and row.shared), "person": person, "mine": person == caller.person}


def _groups(chats: Sequence[ChatRow], most: int = _LISTED_CHATS) -> tuple[ChatGroup, ...]:
    """The groups of the newest chats and of all pinned ones."""
    older = [chat for chat in chats[most:] if chat.pinned and not chat.archived]
    return chat_groups([*chats[:most], *older], _now())


def _now() -> datetime:
    """The server's local time; the page's script shows it in the reader's zone."""
    return datetime.now().astimezone()


def _number(text: str) -> int:
    """The number of chats that a page asks for, at least `_LISTED_CHATS`."""
    asked = int(text) if _COUNT.fullmatch(text) else 0
    return max(asked, _LISTED_CHATS)


def _is_chat_id(text: str) -> bool:
    try:
        check_chat_id(text)
    except ChatIdInvalid:
        return False
    return True
