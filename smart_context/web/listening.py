"""Sockets and connections, with deadlines, on a system that may run out of descriptors.

A connection is a stranger's until a request on it is let in, so silent sockets keep nobody out;
the oldest makes room for the next. uvicorn closes a connection that rests after an answer, but
waits forever for one on which nothing or half a request has come. asyncio logs a traceback for each
connection that it can't accept, thousands of them, and then accepts none for a second.
"""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import h11
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode

from smart_context.web.limits import (
    HEAD_DEADLINE_S,
    KEEP_ALIVE_S,
    MAX_DROPPED_BYTES,
    MAX_STALL_S,
    MAX_STRANGERS,
    QUIET_S,
    SPARE_DESCRIPTORS,
    WANTED_DESCRIPTORS,
)

EXTENSION = "smart_context.shared_frames"

WriteShared = Callable[[bytes], bool]
"""Write a whole frame; returns False, without writing, if it would have to wait."""


def wire_frame(text: str) -> bytes:
    """The bytes of an unmasked, uncompressed WebSocket frame that holds the text."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=False)


def shared_writer(scope: Scope) -> WriteShared:
    """The writer of shared frames for the socket of a scope; one that refuses by default."""
    extensions: Mapping[str, Any] = scope.get("extensions") or {}
    writer: WriteShared = extensions.get(EXTENSION, {}).get("write", _never)
    return writer


class SharedFrameProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol for WebSockets with the extension; compression must be off."""

    async def run_asgi(self) -> None:
        """Serve the app with the extension in its scope."""
        extensions = self.scope["extensions"]
        if extensions is not None:
            extensions[EXTENSION] = {"write": self.write_shared}
        await super().run_asgi()

    def write_shared(self, frame: bytes) -> bool:
        """Write a frame, unless the socket is closing or still has much to write."""
        if self.close_sent or not self.writable.is_set() or self.transport.is_closing():
            return False
        self.transport.write(frame)
        return True


def _never(_frame: bytes) -> bool:
    return False


@dataclass(eq=False)
class LogThrottle:
    """Counts events, and lets a log line through now and then."""

    quiet_s: float = QUIET_S  # time between two lines
    clock: Callable[[], float] = time.monotonic  # the time in seconds
    _count: int = field(default=0, init=False)
    _next_line: float | None = field(default=None, init=False)

    def count(self) -> int:
        """The number of events since the last line if a line is due, else 0."""
        self._count += 1
        now = self.clock()
        if self._next_line is not None and now < self._next_line:
            return 0
        self._next_line = now + self.quiet_s
        count, self._count = self._count, 0
        return count


NOWHERE = "an unknown address"

_HOME_PREFIX = 64


def peer_of(address: object) -> str:
    """The name under which connections from an address are counted.

    Args:
        address: The socket's other end: `(host, port, …)`.

    Returns:
        An IPv4 address, or the /64 network of an IPv6 address, which is one customer's.
    """
    try:
        return _peer_at(str(address[0]))  # type: ignore[index] # else a TypeError
    except (TypeError, IndexError, ValueError):
        return NOWHERE


@lru_cache(maxsize=256)
def _peer_at(text: str) -> str:
    host = ipaddress.ip_address(text)
    if isinstance(host, ipaddress.IPv4Address):
        return str(host)
    if host.ipv4_mapped is not None:
        return str(host.ipv4_mapped)
    return str(ipaddress.ip_network((int(host), _HOME_PREFIX), strict=False))


_log = logging.getLogger(__name__)
_SPARE_SHARE = 8
_FEWEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits on the number of connections and on waiting for them."""

    total: int  # most connections at a time
    strangers: int  # most connections on which no request has been let in
    strangers_of_peer: int  # most strangers of one address
    # time until a request is let in, and for each later request head
    head_s: float = HEAD_DEADLINE_S
    idle_s: float = KEEP_ALIVE_S  # longest rest between two requests

    @classmethod
    def within(cls, descriptors: int) -> "ConnectionLimits":
        """The limits for a process with this many descriptors."""
        spare = max(SPARE_DESCRIPTORS, descriptors // _SPARE_SHARE)
        total = max(_FEWEST, descriptors - spare)
        strangers = min(MAX_STRANGERS, total // 2)
        return cls(total=total, strangers=strangers, strangers_of_peer=max(1, strangers // 2))


@dataclass(eq=False)
class Connection:
    """One open connection."""

    connections: "Connections"
    peer: str
    close: Callable[[], None]

    def let_in(self) -> None:
        """A request on it was let in: it is a stranger no longer."""
        self.connections.let_in(self)

    def leave(self) -> None:
        """It has closed."""
        self.connections.leave(self)


class Connections:
    """The open connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._deadlines: dict[Connection, asyncio.TimerHandle] = {}
        """The strangers, oldest first."""
        self._admitted: set[Connection] = set()
        self._by_peer: Counter[str] = Counter()
        self._crowded = LogThrottle()

    def __len__(self) -> int:
        return len(self._deadlines) + len(self._admitted)

    def enter(self, peer: str, close: Callable[[], None]) -> Connection:
        """Count a new connection; closes the oldest stranger if there are too many.

        Args:
            peer: The name of the other end.
            close: Closes the connection at once; called too if no other stranger is left.
        """
        connection = Connection(self, peer, close)
        loop = asyncio.get_running_loop()
        self._deadlines[connection] = loop.call_later(self.limits.head_s, self._expel, connection)
        self._by_peer[peer] += 1
        if self._by_peer[peer] > self.limits.strangers_of_peer:
            self._expel(next(other for other in self._deadlines if other.peer == peer))
        elif len(self._deadlines) > self.limits.strangers or len(self) > self.limits.total:
            self.make_room()
        else:
            return connection
        if count := self._crowded.count():
            _log.warning("Too many connections without a request; closed: %d", count)
        return connection

    def make_room(self) -> bool:
        """Close the oldest stranger; returns False if there is none."""
        oldest = next(iter(self._deadlines), None)
        if oldest is None:
            return False
        self._expel(oldest)
        return True

    def let_in(self, connection: Connection) -> None:
        """Make a stranger known, if it is still connected."""
        if self._forget(connection):
            self._admitted.add(connection)

    def leave(self, connection: Connection) -> None:
        """Stop counting it."""
        self._forget(connection)
        self._admitted.discard(connection)

    def _expel(self, connection: Connection) -> None:
        if self._forget(connection):
            connection.close()

    def _forget(self, stranger: Connection) -> bool:
        deadline = self._deadlines.pop(stranger, None)
        if deadline is None:
            return False
        deadline.cancel()
        self._by_peer[stranger.peer] -= 1
        if not self._by_peer[stranger.peer]:
            del self._by_peer[stranger.peer]
        return True


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
        """Set what makes room for a connection; it returns True if it closed one."""
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
        """Close the waiting connection, which would be offered again endlessly otherwise."""
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


class BodyTooLarge(Exception):
    """A body larger than the endpoint takes."""


async def read_body(
    request: Request,
    most_bytes: int,
    *,
    most_read: int = MAX_DROPPED_BYTES,
    within_s: float | None = None,
) -> bytes:
    """The body; if it is too large, the rest is read and dropped, up to `most_read` in all.

    A client that is still sending when the connection closes never sees the answer.

    Raises:
        BodyTooLarge: If it is larger.
        TimeoutError: If it takes longer than `within_s`, or no bytes arrive for `MAX_STALL_S`.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most_read:
        raise BodyTooLarge
    body = bytearray()
    received = 0
    stream = request.stream()
    async with asyncio.timeout(within_s):
        while received <= most_read:
            async with asyncio.timeout(MAX_STALL_S):
                chunk = await anext(stream, None)
            if chunk is None:
                break
            received += len(chunk)
            if received <= most_bytes:
                body += chunk
    if received > most_bytes:
        raise BodyTooLarge
    return bytes(body)
