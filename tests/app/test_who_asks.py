"""Nobody reads or changes another's: every command, every route and every event, one by one.

The stranger here is a person of whom nothing is kept. What is the owner's answers them as what does
not exist. A command, parameter or address that is new has to be entered here, or a test fails.
"""

import asyncio
import hashlib
import json
import logging
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
import pytest
from starlette.middleware.exceptions import ExceptionMiddleware

from smart_context.app.browsers import key_file
from smart_context.app.composition import composed, make_host, read_vault
from smart_context.app.following import Follower, stamps_of
from smart_context.app.serving import vault_app
from smart_context.base.errors import SmartContextError
from smart_context.base.values import OWNER, PersonId
from smart_context.host.commands.registry import Caller
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.stored import StoredReceipts
from smart_context.web.gate.access import GateSecrets
from tests.patience import PATIENCE_S
from tests.web.asking import asked_by

pytestmark = pytest.mark.anyio

STRANGER = PersonId("stranger")
SECRETS = ("secret", "Lisbon")
"""What only the owner's things say."""

CHAT, NO_CHAT = "secret-chat", "absent-chat"
CONTEXT, NO_CONTEXT = "My secret notes", "My absent notes"
KEY, NO_KEY = "secret-key", "absent-key"
NO_FILE = "0" * 64

NAMING = {
    "chat_id": (CHAT, NO_CHAT),
    "chat_ids": ([CHAT], [NO_CHAT]),
    "from_chat": (CHAT, NO_CHAT),
    "key": (CONTEXT, NO_CONTEXT),
    "messages": (
        [{"chat_id": CHAT, "message_ids": ["m1"]}],
        [{"chat_id": NO_CHAT, "message_ids": ["m1"]}],
    ),
    "name": (CONTEXT, NO_CONTEXT),
    "contexts": ([CONTEXT], [NO_CONTEXT]),
    "client": (KEY, NO_KEY),
}
"""Parameters that name something owned: the owner's, and what nobody has."""

OTHER = {
    "answers": False,
    "apply": False,
    "archived": True,
    "block": "",
    "brief": True,
    "budget": 2_000,
    "by": "day",
    "category": "chat",
    "comparison_id": "c1",
    "connection": "openai",
    "context_budget_tokens": 100,
    "cursor": "",
    "deletion": "",
    "depth": 0,
    "diff": None,
    "digest": "",
    "dry_run": True,
    "embedding_search": True,
    "endpoint": None,
    "enabled": True,
    "folder": "",
    "heading": "",
    "hidden": [],
    "instructions": "",
    "items": ["note.md"],
    "keep_pairs": True,
    "label": "Ferries",
    "labels": ["Ferries", "Trains"],
    "limit": 5,
    "links": [],
    "max_tokens": 8_000,
    "message": "And now?",
    "message_id": "m1",
    "merged": True,
    "message_ids": ["m1"],
    "model": "",
    "move": False,
    "new_label": "Boats",
    "not_topic_id": None,
    "off_pick": False,
    "offset": 0,
    "on": True,
    "options": None,
    "origin": "",
    "parts": [],
    "path": "note.md",
    "paused": False,
    "paths": ["note.md"],
    "pinned": [],
    "private": True,
    "program": "",
    "query": "Lisbon",
    "recall_id": "r1",
    "recent_messages": 3,
    "regroup": False,
    "relevance": "plain",
    "replace": True,
    "revision": "",
    "role": "",
    "scope": "user",
    "select": True,
    "shared": True,
    "side": "left",
    "since": "",
    "stream": False,
    "summary": "In short.",
    "target": "",
    "targets": [],
    "task": "",
    "text": "Changed",
    "threshold": 0.5,
    "time_zone": "",
    "title": "Changed",
    "topic_id": "t1",
    "topics": [],
    "turn": "t1",
    "until": "",
    "upload": "",
    "values": {},
    "version": 1,
    "wait": False,
    "what_fits": False,
}
"""Parameters that name nothing owned, or something within what another parameter names."""

OF_NOBODY = {
    "smart_context.compile_context": "made of the vault's notes, from names that the caller gives",
    "smart_context.find_files": "the notes are of all who use the vault",
    "smart_context.list_notes": "the notes are of all who use the vault",
    "smart_context.slash_commands": "the notes are of all who use the vault",
    "smart_context.outline": "the notes are of all who use the vault",
    "smart_context.preview_context": "made of the vault's notes, from names that the caller gives",
    "system.commands": "what the program can do",
    "system.plugins": "what the program can do",
    "tools.links": "the notes are of all who use the vault",
    "tools.pack": "made of the vault's files, from names that the caller gives",
    "tools.read_note": "the notes are of all who use the vault",
    "tools.search_notes": "the notes are of all who use the vault",
    "system.trust": "what the vault may do, as on the command line; nobody's chat",
}
"""Commands that neither name nor list what belongs to a person, and why."""

LISTS = {
    "memory.list_chats",
    "memory.list_trash",
    "memory.search",
    "smart_context.costs",
    "smart_context.list_contexts",
    "system.clients",
    "tools.list_chats",
}
"""Commands that list what is the caller's."""


def addresses(file):
    """The address of the owner's and of what nobody has, by route."""
    chat, absent = f"/chats/{CHAT}", f"/chats/{NO_CHAT}"
    return {
        "/": ("/", "/"),
        "/api/files/{key}": (f"/api/files/{file}", f"/api/files/{NO_FILE}"),
        "/chats": ("/chats?q=way", "/chats?q=way"),
        "/chats/{chat_id}": (chat, absent),
        "/chats/{chat_id}/export": (f"{chat}/export", f"{absent}/export"),
        "/chats/{chat_id}/messages": (f"{chat}/messages", f"{absent}/messages"),
        "/chats/{chat_id}/text": (f"{chat}/text?message=m1", f"{absent}/text?message=m1"),
        "/chats/{chat_id}/turns/{turn}": (f"{chat}/turns/t1", f"{absent}/turns/t1"),
        "/clients": ("/clients", "/clients"),
        "/contexts": (f"/contexts?chat={CHAT}", f"/contexts?chat={NO_CHAT}"),
        "/contexts/{key:path}": (f"/contexts/{CONTEXT}", f"/contexts/{NO_CONTEXT}"),
        "/costs": ("/costs", "/costs"),
        "/panels/smart_context": (
            f"/panels/smart_context?chat_id={CHAT}",
            f"/panels/smart_context?chat_id={NO_CHAT}",
        ),
        "/settings": ("/settings", "/settings"),
        "/topics": ("/topics", "/topics"),
        "/trash": ("/trash", "/trash"),
        "/trash/list": ("/trash/list", "/trash/list"),
    }


NOTHING_SECRET = {"/", "/panels/smart_context", "/settings", "/topics", "/trash"}
"""Pages whose scripts ask for what is the reader's own."""

OPEN = {
    "/api/commands/{name:path}": "the commands, each of which is tried here",
    "/api/imports": "refused to all but the owner of the installation",
    "/api/files": "takes a file in, and gives nothing but what it took",
    "/favicon.ico": "ours",
    "/healthz": "open to anybody",
    "/metrics": "figures of the process; nobody's chat",
    "/readyz": "open to anybody",
    "/mcp": "the tools, which are commands, for whom the gate let in",
    "/markdown": "formats the text that it is sent",
    "/new": "leads to an id that nobody has",
    "/notes": "the notes are of all who use the vault",
    "/panels/{plugin_id}": "the page that a plugin registered, for everybody",
    "/panels/{plugin_id}/": "the page that a plugin registered, for everybody",
    "/panels/{plugin_id}/{name:path}": "a plugin's own files",
    "/static": "ours",
    "/static/joined/{name}": "ours",
    "/v1": "the gateway, tried with each way to name a chat",
    "/v1/{path:path}": "the gateway, tried with each way to name a chat",
    "/ws": "the socket, whose commands and events are tried",
}
"""Routes that are not asked for something owned here, and why."""


class Vault:
    """A served vault that is full of one person's things."""

    def __init__(self, folder, host, app, person=OWNER):
        self.folder = folder
        self.person = person
        self.host = host
        self.app = app
        self.file = ""
        self._inner = ExceptionMiddleware(app.router, app.exception_handlers)

    async def fill(self):
        storage = self.host.services.storage.for_person(self.person)
        stored = await storage.blobs.put("secret.txt", b"secret words of a file")
        self.file = stored.storage_key
        question = {"id": "m1", "role": "user", "content": "secret way to Lisbon"}
        attached = {"id": "f", "name": "secret.txt", "file_type": "text/plain"}
        question["files"] = [{**attached, "storage_key": self.file}]
        data = {"title": "secret plans", "messages": [question]}
        for chat_id in (CHAT, "secret-deleted"):
            await self.call(self.person, "memory.save_chat", chat_id=chat_id, data=data)
        await self.call(self.person, "memory.delete_chat", chat_id="secret-deleted")
        await self.call(self.person, "smart_context.add_topic", chat_id=CHAT, label="Ferries")
        await self.call(self.person, "smart_context.save_context", key=CONTEXT, items=["note.md"])
        await self.call(self.person, "smart_context.add_notes", chat_id=CHAT, paths=["note.md"])
        await self.call(self.person, "system.new_client_key", client=KEY)
        receipts = StoredReceipts(self.host.services.storage.logs, logging.getLogger(__name__))
        names = {"turn": "t1", "question": "m1", "answer": "m2"}
        settings = {"threshold": 0.4, "recent_messages": 2}
        told = {"at": "2026-11-25", "outcome": "finished", "models": {}, "usage": {"prompt": 7}}
        await receipts.add(CHAT, Receipt(**names, **told, settings=settings), None)

    async def call(self, person, name, /, **params):
        return await self.host.commands.call(name, params, Caller(person))

    async def answer(self, person, name, params):
        """The answer to a person as text, an error's kind and words included."""
        try:
            return json.dumps(await self.call(person, name, **params))
        except SmartContextError as error:
            return f"{type(error).__name__}: {error}"

    def browser(self, person):
        async def with_app(scope, receive, send):
            await asked_by(self._inner, person)({**scope, "app": self.app}, receive, send)

        transport = httpx2.ASGITransport(app=with_app)
        return httpx2.AsyncClient(transport=transport, base_url="http://localhost")

    def prints(self):
        """What is kept of the owner, by file; a look, or the background, may make an index."""
        kept = [path for path in (self.folder / ".memory").rglob("*") if path.is_file()]
        return {
            path: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in kept
            if not path.name.startswith((".index", "atlas."))
        }


@asynccontextmanager
async def serving(folder):
    folder.mkdir()
    (folder / ".vault.toml").write_text("[plugins.smart_context]\nenabled = true\n")
    (folder / "note.md").write_text("# Note\nOf everybody.\n")
    async with composed(read_vault(folder)) as parts, AsyncExitStack() as replaced:
        host = make_host(parts)
        follower = Follower(host, stamps_of([]), parts.client, replaced)
        app = vault_app(host, follower, GateSecrets(None), "localhost", parts.client)
        async with app.router.lifespan_context(app):
            vault = Vault(folder, host, app)
            await vault.fill()
            yield vault


@pytest.fixture
async def vault(tmp_path):
    async with serving(tmp_path / "vault") as vault:
        yield vault
    key_file().revoke(KEY)


def cases(listed, naming):
    """Calls of a command that differ in one named thing: the owner's, and what nobody has."""
    properties = listed["params"].get("properties", {})
    needed = [name for name in listed["params"].get("required", ()) if name not in naming]
    rest = {name: OTHER[name] for name in needed if name in OTHER}
    named = [name for name in properties if name in naming]
    for varied in named:
        held = {name: naming[name][0] for name in named if name in needed_of(listed)}
        yield tuple({**rest, **held, varied: naming[varied][which]} for which in (0, 1))


def needed_of(listed):
    return listed["params"].get("required", ())


def same_names(answer):
    """The answer with all names of what is asked for exchanged by those that nobody has."""
    for owned, absent in ((CHAT, NO_CHAT), (CONTEXT, NO_CONTEXT), (KEY, NO_KEY)):
        answer = answer.replace(owned, absent)
    return answer


def naming_of(vault):
    files = [[{"storage_key": key}] for key in (vault.file, NO_FILE)]
    data = [{"messages": [{"id": "x", "role": "user", "content": "", "files": f}]} for f in files]
    return {**NAMING, "files": files, "data": data}


async def commands_of(vault):
    return (await vault.call(STRANGER, "system.commands"))["commands"]


async def test_every_parameter_is_known_to_name_something_owned_or_not(vault):
    naming = naming_of(vault)
    names = {p for c in await commands_of(vault) for p in c["params"].get("properties", {})}

    assert names <= naming.keys() | OTHER.keys(), "say in OTHER or NAMING what these are"
    assert OTHER.keys() <= names, "these are of no command any more"


async def test_what_is_anothers_answers_every_command_as_what_does_not_exist(vault):
    before, wrong, tried = vault.prints(), [], set()
    for listed in await commands_of(vault):
        for owned, absent in cases(listed, naming_of(vault)):
            name = listed["name"]
            tried.add(name)
            found = await vault.answer(STRANGER, name, owned)
            missing = await vault.answer(STRANGER, name, absent)
            told = same_names(found)
            if told != same_names(missing) or any(secret in told for secret in SECRETS):
                wrong.append((name, owned, found, missing))

    assert wrong == []
    assert len(tried) > 40
    after = vault.prints()
    assert {path: after.get(path) for path in before} == before
    assert after.keys() == before.keys(), "a stranger's call left something"


async def test_the_owner_gets_what_strangers_do_not(vault):
    """So that an answer that is empty for everybody proves nothing above."""
    for name in ("memory.load_chat", "smart_context.get_topics", "smart_context.chat_contexts"):
        owned = await vault.answer(OWNER, name, {"chat_id": CHAT})
        assert same_names(owned) != await vault.answer(OWNER, name, {"chat_id": NO_CHAT})
    assert "note.md" in await vault.answer(OWNER, "smart_context.get_context", {"key": CONTEXT})
    sent = {"chat_id": CHAT, "message": "x", "files": [{"storage_key": vault.file}]}
    assert "messages" in await vault.answer(OWNER, "smart_context.preview", sent)


async def test_every_list_shows_strangers_nothing_of_the_owners(vault):
    for name in sorted(LISTS):
        params = {"query": "way"} if name == "memory.search" else {}
        assert "secret" in await vault.answer(OWNER, name, params)
        told = await vault.answer(STRANGER, name, params)
        assert not any(secret in told for secret in SECRETS), name


async def test_emptying_the_trash_removes_nothing_of_anothers(vault):
    assert (await vault.call(STRANGER, "memory.empty_trash"))["removed"] == 0
    assert (await vault.call(OWNER, "memory.empty_trash"))["removed"] == 1


async def test_every_command_asks_who_calls_or_is_known_to_be_of_nobody(vault):
    ignoring = set()
    for name, command in vault.host.commands._commands.items():
        if not (command.parameters.naming or command.parameters.caller_name):
            ignoring.add(name)

    assert ignoring == OF_NOBODY.keys() & ignoring, "these ignore who asks"
    assert OF_NOBODY.keys() <= ignoring, "these ask who calls, so need no exception"


async def test_every_route_shows_strangers_what_does_not_exist(vault):
    known = addresses(vault.file)
    routes = {route.path for route in vault.app.routes}
    assert routes == known.keys() | OPEN.keys(), "say in `addresses` or OPEN what these are"
    for route, (owned, absent) in known.items():
        async with vault.browser(STRANGER) as browser:
            found, missing = await browser.get(owned), await browser.get(absent)
        told = same_names(found.text)
        assert not any(secret in told for secret in SECRETS), route
        answers = (found.status_code, told), (missing.status_code, same_names(missing.text))
        assert answers[0] == answers[1], route


async def test_routes_show_the_owner_what_is_theirs(vault):
    async with vault.browser(OWNER) as browser:
        for route, (owned, _) in addresses(vault.file).items():
            if "turn" in route:  # of which there is none in this chat
                continue
            found = await browser.get(owned)
            shown = same_names(found.text).replace(NO_KEY, KEY)
            assert "secret" in shown or route in NOTHING_SECRET, route


@pytest.mark.parametrize("body", [{}, {"model": "chat:CHAT"}], ids=["by header", "as a model"])
async def test_the_gateway_continues_no_chat_of_anothers(vault, body):
    asked = {"messages": [{"role": "user", "content": "And now?"}]}
    before = vault.prints()

    async def answer(chat):
        given = {name: value.replace("CHAT", chat) for name, value in body.items()}
        headers = {} if body else {"X-Smart-Context-Chat": chat}
        async with vault.browser(STRANGER) as browser:
            return await browser.post("/v1/chat/completions", json=asked | given, headers=headers)

    found, missing = await answer(CHAT), await answer(NO_CHAT)
    assert found.status_code == missing.status_code == 404
    assert same_names(found.text) == missing.text
    assert vault.prints() == before


class Socket:
    """A person's page, which notes the events it gets."""

    def __init__(self, vault, person):
        self.events = []
        self._incoming = asyncio.Queue()
        self._incoming.put_nowait({"type": "websocket.connect"})
        app = asked_by(vault.app.state.clients, person)
        self._serving = asyncio.create_task(
            app({"type": "websocket", "path": "/ws"}, self._incoming.get, self._send)
        )

    async def _send(self, message):
        if message["type"] == "websocket.send":
            self.events.append(json.loads(message["text"]))

    def names(self):
        return {event["method"] for event in self.events}

    async def until(self, name):
        async with asyncio.timeout(PATIENCE_S):
            while name not in self.names():
                await asyncio.sleep(0.001)

    async def leave(self):
        self._incoming.put_nowait({"type": "websocket.disconnect", "code": 1001})
        await self._serving


async def test_no_event_of_a_chat_or_context_reaches_another_person(vault):
    own, other = Socket(vault, OWNER), Socket(vault, STRANGER)
    await own.until("ui.register_panel")
    await other.until("ui.register_panel")
    await vault.call(OWNER, "chat.send", chat_id=CHAT, message="The secret ferry to Lisbon?")
    await vault.call(OWNER, "smart_context.refresh_topics", chat_id=CHAT, wait=True)
    await vault.call(OWNER, "smart_context.set_filter", chat_id=CHAT, topics=["Ferries"])
    await vault.call(OWNER, "smart_context.save_context", key=CONTEXT, items=["note.md"])
    await vault.call(OWNER, "memory.delete_chat", chat_id=CHAT)
    await vault.call(OWNER, "memory.empty_trash")
    vault.host.emit("test.of_a_plugin", {"chat_id": CHAT})
    await own.until("test.of_a_plugin")
    await own.leave()
    await other.leave()

    assert own.names() >= {
        "chat.started",
        "chat.token",
        "chat.finished",
        "memory.chat_changed",
        "memory.chat_deleted",
        "memory.trash_changed",
        "smart_context.contexts_changed",
        "smart_context.filter_changed",
        "smart_context.receipt_kept",
    }
    assert other.names() <= {"ui.register_panel", "smart_context.contexts_changed"}
    news = [e["params"] for e in other.events if e["method"] == "smart_context.contexts_changed"]
    assert all("notes_changed" in params for params in news)
    assert not any(secret in json.dumps(other.events) for secret in SECRETS)
