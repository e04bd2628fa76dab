"""Sockets with deadlines, on a system that may run out of descriptors.

uvicorn closes a connection that rests after an answer, but
waits forever for one on which nothing or half a request has come. asyncio logs a traceback for each
connection that it can't accept, thousands of them, and then accepts none for a second.
"""

import asyncio
import contextlib
import errno
import logging
import os
import socket
import sys
from collections.abc import Callable, MutableMapping
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from smart_context.web.addresses import LogThrottle, peer_of
from smart_context.web.connections import ClientConnection, Connections
from smart_context.web.limits import (
    WANTED_DESCRIPTORS,
)
from smart_context.web.shared_frames import SharedFrameProtocol

_log = logging.getLogger(__name__)

_EXTENSION = "smart_context.connection"


def let_in(scope: Scope) -> None:
    """Record that a request was let in; its connection is no longer a stranger."""
    extensions: MutableMapping[str, Any] = scope.get("extensions") or {}
    tell: Callable[[], None] = extensions.get(_EXTENSION, {}).get("let_in", _nothing)
    tell()


class GuardedHttp(H11Protocol):
    """One connection, with deadlines. Becomes a `GuardedSocket` when it asks for a WebSocket.

    Args:
        connections: Counts it.
        uvicorn: The arguments of uvicorn's protocol.
    """

    _connection: ClientConnection

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._connections = connections
        self._deadline: asyncio.TimerHandle | None = None
        self._inner = self.app
        self.app = self._announced
        self.ws_protocol_class = self._socket  # type: ignore[assignment] # makes one, as a class does

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = peer_of(transport.get_extra_info("peername"))
        self._connection = self._connections.enter(peer, transport.abort)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._connection.leave()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Start or stop the deadline: it runs while a request is incomplete."""
        if not self._is_waiting():
            self._stop_waiting()
        elif self._deadline is None:
            head_s = self._connections.limits.head_s
            self._deadline = self.loop.call_later(head_s, self.transport.abort)

    def _is_waiting(self) -> bool:
        if self.transport.get_protocol() is not self or self.transport.is_closing():
            return False
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            return False  # the app is running; it has a deadline of its own for the body
        return self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _socket(self, **uvicorn: Any) -> "GuardedSocket":
        return GuardedSocket(self._connection, **uvicorn)

    async def _announced(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("extensions", {})[_EXTENSION] = {"let_in": self._connection.let_in}
        await self._inner(scope, receive, send)


class GuardedSocket(SharedFrameProtocol):
    """A WebSocket, a stranger until its handshake is let in.

    Args:
        uvicorn: The arguments of uvicorn's protocol.
    """

    def __init__(self, connection: ClientConnection, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._connection = connection

    @override
    async def run_asgi(self) -> None:
        extensions = self.scope["extensions"]
        if extensions is not None:
            extensions[_EXTENSION] = {"let_in": self._connection.let_in}
        await super().run_asgi()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.leave()
        super().connection_lost(exc)


def _nothing() -> None:
    """Do nothing."""


_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_QUEUE = 2048


class ListeningSocket(socket.socket):
    """A listening socket; asyncio calls `accept`."""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._make_room: Callable[[], bool] = lambda: False
        self._trouble = LogThrottle()
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)

    def relieve_by(self, make_room: Callable[[], bool]) -> None:
        """Set the function that makes room for a connection; it returns True if it closed one."""
        self._make_room = make_room

    @override
    def listen(self, backlog: int = _QUEUE, /) -> None:
        """Listen; asyncio calls this too, with the number of connections it accepts in a row."""
        super().listen(_QUEUE)

    @override
    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            if count := self._trouble.count():
                _log.warning("No room for another connection (%s); tries: %d", error, count)
            if not self._make_room():
                self._turn_away()
            raise BlockingIOError from error

    @override
    def close(self) -> None:
        super().close()
        self._let_go()

    def _turn_away(self) -> None:
        """Close the waiting connection; otherwise it would be offered again endlessly."""
        self._let_go()
        with contextlib.suppress(OSError):
            super().accept()[0].close()
        with contextlib.suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY)

    def _let_go(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None


if sys.platform == "win32":

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """The wanted number; this system sets no limit."""
        return wanted

else:
    import resource

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """Raise the limit towards the wanted one; returns the limit in force."""
        limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
        if limit == resource.RLIM_INFINITY or limit >= wanted:
            return wanted
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, ceiling))
        except (OSError, ValueError):
            return limit
        return wanted
