"""Runs the web application; it ends within 5 s of a signal."""

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from functools import partial
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from smart_context.base.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.web.connections import ConnectionLimits, Connections
from smart_context.web.gate.access import GateSecrets, start_link
from smart_context.web.gate.door import AnyDoor
from smart_context.web.limits import (
    ACCEPTED_IN_A_ROW,
    MAX_STALL_S,
    MAX_WIRE_FRAME_BYTES,
    PING_INTERVAL_S,
    PING_TIMEOUT_S,
    SESSIONS_POLL_S,
    STOP_CONNECTIONS_S,
    STOP_HOST_S,
)
from smart_context.web.listening import GuardedHttp, ListeningSocket, raised_limit
from smart_context.web.session import Sessions

_log = logging.getLogger(__name__)
_SIGNALS = tuple(  # the last is Ctrl+Break of Windows
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)

if sys.platform == "win32":
    import ctypes

    _kernel = ctypes.WinDLL("kernel32")
    _ENDINGS = frozenset({2, 5, 6})  # the console is closed, the user logs off, the system stops

    @contextmanager
    def _on_closed_console(leave: Callable[[], object]) -> Iterator[None]:
        """Call `leave` when the console is closed; the system waits for the block's end then.

        A signal would come too late: the process is ended as soon as its handler returns.
        """
        is_over = threading.Event()

        @ctypes.WINFUNCTYPE(ctypes.c_int, ctypes.c_uint)
        def handle(event: int) -> int:
            if event not in _ENDINGS:
                return False
            leave()
            return is_over.wait()

        _kernel.SetConsoleCtrlHandler(handle, True)
        try:
            yield
        finally:
            is_over.set()
            _kernel.SetConsoleCtrlHandler(handle, False)

else:

    def _on_closed_console(_leave: Callable[[], object]) -> AbstractContextManager[None]:
        """Do nothing: other systems send a signal and wait."""
        return nullcontext()


NewLink = Callable[[], str]
"""Makes a start link; each works once, so make one for each use."""


async def serve(
    app: Starlette,
    host: str,
    port: int,
    on_ready: Callable[[NewLink], None],
    *,
    limits: ConnectionLimits | None = None,
) -> None:
    """Serve until SIGINT, SIGTERM or cancellation, then shut down in order.

    Args:
        app: The application; it is started and stopped here.
        port: The port to bind; 0 takes any free one.
        on_ready: Called with the maker of start links once requests are answered.
        limits: Limits of connections; by default as many as the system allows.

    Raises:
        CommandFailed: If the address can't be bound, before anything was started.
        Exception: If the app fails to start.
    """
    with bind(host, port) as bound:
        address = f"http://{_named(host)}:{bound.getsockname()[1]}"
        access: GateSecrets = app.state.access

        def new_link() -> str:
            if not app.state.has_start_links:
                return address
            return start_link(address, access.new_link_token())

        async with AsyncExitStack() as running:
            await running.enter_async_context(app.router.lifespan_context(app))
            connections = Connections(limits or ConnectionLimits.within(raised_limit()))
            bound.relieve_by(connections.make_room)
            settings = _settings(app, connections)
            server = _ReportingServer(settings, running, lambda: on_ready(new_link))
            async with _known_as(address, app):
                try:
                    await server.serve(sockets=[bound])
                except asyncio.CancelledError:
                    if server.started:
                        await server.shutdown([bound])
                    raise


@asynccontextmanager
async def _known_as(address: str, app: Starlette) -> AsyncIterator[None]:
    """Record this server, and apply changes of the record to connected browsers."""
    access: GateSecrets = app.state.access
    await access.book.open(address)
    following = asyncio.create_task(_follow(access, app.state.door, app.state.clients))
    try:
        yield
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await access.book.close()


async def _follow(access: GateSecrets, door: AnyDoor, clients: Sessions) -> None:
    while True:
        await asyncio.sleep(SESSIONS_POLL_S)
        access.book.mark_seen(clients.browsers())
        clients.end(await door.ended(clients.browsers()))


def bind(host: str, port: int) -> ListeningSocket:
    """A listening socket.

    Raises:
        CommandFailed: If the port is in use.
        InvalidParams: If the address is none, or not one of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = ListeningSocket(family, kind, protocol)
    except OSError as error:
        raise _not_bound(host, port, error) from error
    try:
        if os.name == "posix":  # elsewhere it would share the port with other programs
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _limit_stalls(bound)
        bound.bind(address)
        bound.listen()
    except OSError as error:
        bound.close()
        raise _not_bound(host, port, error) from error
    return bound


def _limit_stalls(bound: socket.socket) -> None:
    """Let the system drop a connection whose client does not read for too long.

    Closing a socket waits until all is written; with such a client that would never end.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        bound.setsockopt(socket.IPPROTO_TCP, option, int(MAX_STALL_S * 1000))


def _not_bound(host: str, port: int, error: OSError) -> SmartContextError:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return InvalidParams(
            f"--host: expected an address of this machine, found {host!r} "
            f"({error.strerror or error})"
        )
    return CommandFailed(
        f"Can't listen on {host} port {port}: {error.strerror or error}. If another program, or "
        "another smart-context, has the port, choose one with --port (0 takes any free one)."
    )


def _named(host: str) -> str:
    """The address as a browser on this machine reaches it."""
    if host in {"", "0.0.0.0"}:  # noqa: S104  (compared with, not bound to)
        return "127.0.0.1"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host


def _settings(app: Starlette, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",  # started above, so its errors are not reworded
        http=partial(GuardedHttp, connections),  # type: ignore[arg-type] # makes one, as a class does
        ws="websockets-sansio",
        backlog=ACCEPTED_IN_A_ROW,
        ws_max_size=MAX_WIRE_FRAME_BYTES,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_INTERVAL_S,
        ws_ping_timeout=PING_TIMEOUT_S,
        timeout_keep_alive=connections.limits.idle_s,  # type: ignore[arg-type] # parts of a second work too
        timeout_graceful_shutdown=STOP_CONNECTIONS_S,
        log_config=None,
        log_level="critical",  # the app logs important events
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


class _ReportingServer(uvicorn.Server):
    """uvicorn, but it reports when it is ready, and stops the app before the connections.

    So running answers are saved, and their clients are told.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        running: AsyncExitStack,
        on_started: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._running = running
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in self.servers:
            listener.close()
        try:
            async with asyncio.timeout(STOP_HOST_S):
                await self._running.aclose()
        except TimeoutError:
            _log.error("Stopping took longer than %s s and was cut short", STOP_HOST_S)
        finally:
            await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Shut down in order on a signal; uvicorn would raise it again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._leave)

        previous = {number: signal.signal(number, on_signal) for number in _SIGNALS}
        try:
            with _on_closed_console(lambda: loop.call_soon_threadsafe(self._leave)):
                yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _leave(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
