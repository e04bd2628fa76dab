"""uvicorn's protocol for HTTP, with deadlines.

uvicorn closes a connection that rests after an answer. It waits forever for one on which nothing
or half a request has come, and for a body that comes byte by byte.
"""

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from smart_context.web.listening.connections import Connection, Connections
from smart_context.web.listening.peers import peer_of
from smart_context.web.wire.shared_frames import SharedFrameProtocol

_EXTENSION = "smart_context.connection"


def let_in(scope: Scope) -> None:
    """Note that a request was let in; its connection is a stranger's no longer."""
    extensions: MutableMapping[str, Any] = scope.get("extensions") or {}
    tell: Callable[[], None] = extensions.get(_EXTENSION, {}).get("let_in", _nothing)
    tell()


class GuardedHttp(H11Protocol):
    """One connection, with deadlines. Becomes a `GuardedSocket` when it asks for a WebSocket.

    Args:
        connections: Counts it.
        uvicorn: The arguments of uvicorn's protocol.
    """

    _connection: Connection

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
    """A WebSocket, a stranger's until its handshake is let in.

    Args:
        uvicorn: The arguments of uvicorn's protocol.
    """

    def __init__(self, connection: Connection, **uvicorn: Any) -> None:
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
