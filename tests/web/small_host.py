"""A host with a few commands, and a real server around it in a thread of its own."""

import asyncio
import threading
from contextlib import contextmanager

from smart_context.base.errors import ChatIdInvalid, CommandFailed, InvalidParams
from smart_context.host.access import EVERYBODY, OwnerOnly
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.web.application import create_web_app
from smart_context.web.gate.access import GateSecrets
from smart_context.web.server import serve
from tests.patience import PATIENCE_S

TOKEN = "a-token-for-tests-0123456789"


class SmallHost:
    """What the web needs of a host; commands that tests steer by name."""

    def __init__(self):
        self.access = OwnerOnly()
        self.commands = CommandRegistry(self.access)
        self.listeners = []
        self.clients = []
        self.parted = threading.Event()
        self.running = threading.Event()
        self.finished = threading.Event()
        self.gate = asyncio.Event()
        self.was_stopped = False
        for name in ("echo", "wait", "open_gate", "fail", "refuse", "crash", "odd", "who"):
            self.commands.register(f"test.{name}", getattr(self, name))
        self.commands.register("chat.open", self.open_chat)

    async def start(self):
        self.was_stopped = False

    async def stop(self):
        self.was_stopped = True
        self.gate.set()

    def on_event(self, listener):
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def emit(self, event, payload, audience=EVERYBODY):
        for listener in tuple(self.listeners):
            listener(event, payload, audience)

    async def client_connected(self, client):
        self.clients.append(client)
        client.send("ui.register_panel", {"id": "smart_context"})

    async def client_disconnected(self, client):
        self.clients.remove(client)
        self.parted.set()

    async def echo(self, text: str = "", number: float = 0) -> dict:
        return {"text": text, "number": number}

    async def wait(self) -> dict:
        self.running.set()
        await self.gate.wait()
        self.finished.set()
        return {"waited": True}

    async def open_gate(self) -> dict:
        self.gate.set()
        return {}

    async def open_chat(self, chat_id: str, caller: Caller) -> dict:
        if caller.client is not None:
            caller.client.chat_id = chat_id
        return {}

    async def who(self, chat_id: str = "nobody") -> dict:
        return {"chat_id": chat_id}

    async def fail(self) -> dict:
        raise CommandFailed("the disk is full")

    async def refuse(self, chat_id: str) -> dict:
        raise ChatIdInvalid(f"no chat id: {chat_id}")

    async def crash(self) -> dict:
        raise ZeroDivisionError("secret detail")

    async def odd(self) -> dict:
        return {"value": float("nan")}


class StrictCommands:
    """Commands that raise what a registry would not let through."""

    async def call(self, name, params, caller):
        raise InvalidParams("missing: x") if name == "params" else LookupError("secret detail")


class RunningServer:
    """A server in a thread of its own, with what a test needs to speak to it."""

    def __init__(self, token, limits):
        self.token = token
        self.limits = limits
        self.host = None
        self.link = None
        self.error = None
        self._loop = None
        self._task = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @property
    def authority(self):
        return self.link.split("/")[2]

    @property
    def port(self):
        return int(self.authority.split(":")[1])

    @property
    def socket_url(self):
        return f"ws://{self.authority}/ws"

    @property
    def bearer(self):
        return {"Authorization": f"Bearer {self.token}"}

    def start(self):
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    def stop(self):
        """End the server and wait for it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def emit(self, event, payload):
        """Publish on the server's loop and wait until it is queued for all clients."""
        done = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (self.host.emit(event, payload), done.set()))
        assert done.wait(PATIENCE_S)

    def open_gate(self):
        """Let commands that wait go on."""
        self._loop.call_soon_threadsafe(self.host.gate.set)

    async def _serve(self):
        self.host = SmallHost()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        app = create_web_app(self.host, access=GateSecrets(self.token))
        await serve(app, "127.0.0.1", 0, self._announce, limits=self.limits)

    def _announce(self, new_link):
        self.link = new_link()
        self._ready.set()

    def _run(self):
        try:
            asyncio.run(self._serve())
        except asyncio.CancelledError:
            pass
        finally:
            self._ready.set()


@contextmanager
def running(token=TOKEN, limits=None):
    """Serve a `SmallHost` on a free port until the block ends."""
    server = RunningServer(token, limits)
    server.start()
    try:
        yield server
    finally:
        server.stop()
