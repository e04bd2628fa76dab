"""Clients on the socket: their requests, their events, and who is connected.

Events are serialised once for all clients. A client that keeps up gets them at once; otherwise
they wait in its outbox for a writer of its own, so it delays nobody.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from uuid import uuid4

from starlette.types import Message, Receive, Scope, Send

from smart_context.base.values import PersonId
from smart_context.chat.messages import ChatId
from smart_context.host.access import Audience
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.host import Host
from smart_context.host.tasks import TaskOwner
from smart_context.web.gate.gate import admitted
from smart_context.web.limits import MAX_RUNNING_COMMANDS, MAX_STALL_S, STOP_GRACE_S
from smart_context.web.outbox import Frame, Outbox, event_frame
from smart_context.web.outcomes import render_outcome, run_command
from smart_context.web.shared_frames import WriteShared, shared_writer, wire_frame
from smart_context.web.wire import (
    CommandRequest,
    Invalid,
    Notification,
    parse_frame,
    read_beside,
    render_error,
)

_log = logging.getLogger(__name__)

SUBPROTOCOL = "smart-context"
"""The subprotocol that our pages offer next to their key; one offer must be accepted."""

Run = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a command in the background."""


class ClientSession:
    """One client: its socket, its outbox and its running commands.

    Attributes:
        id: Names the client while it is connected.
        person: The person as whom it was let in.
        chat_id: The chat that it opened last; `None` before the first.
        browser: The browser's session; empty for a program.
        gone: Done when nothing can be sent any more.
        drained: Set while nothing waits to be sent.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        write_shared: WriteShared,
        *,
        person: PersonId,
        max_stall_s: float,
        browser: str = "",
    ) -> None:
        self.id = uuid4().hex
        self.person = person
        self.chat_id: ChatId | None = None
        self.browser = browser
        self._receive = receive
        self._send = send
        self._write_shared = write_shared
        self._max_stall_s = max_stall_s
        self._outbox = Outbox()
        self._filled = asyncio.Event()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.drained = asyncio.Event()
        self.drained.set()
        self._sending_since: float | None = None
        self._slots = asyncio.Semaphore(MAX_RUNNING_COMMANDS)

    def send(self, event: str, payload: Mapping[str, Any]) -> None:
        """Send an event to this client only.

        Raises:
            ValueError: If the payload can't be serialised.
        """
        self.put(event_frame(event, payload))

    def put(self, frame: Frame) -> None:
        """Queue a frame; a client that lags too far behind is disconnected instead."""
        if self.gone.done():
            return
        if self._outbox.put(frame) and not self._is_stalled():
            self._filled.set()
            self.drained.clear()
        else:
            _log.warning("Client %s does not read what it is sent; disconnected", self.id)
            self.leave()

    def put_shared(self, frame: Frame, wire: bytes) -> None:
        """Write a frame for many clients, or queue it after the frames that wait already.

        Args:
            wire: The frame as bytes on the wire.
        """
        if self.gone.done() or not self.drained.is_set() or not self._write_shared(wire):
            self.put(frame)

    def leave(self) -> None:
        """Send nothing more and close the socket."""
        self.drained.set()
        if not self.gone.done():
            self.gone.set_result(None)

    async def read(self, host: Host, run: Run) -> None:
        """Run the client's requests until it disconnects."""
        while (message := await self._receive())["type"] == "websocket.receive":
            frame = await read_beside(parse_frame, _content_of(message))
            if isinstance(frame, Invalid):
                self._refuse(frame)
                continue
            await self._slots.acquire()
            run(self._answer(host.commands, frame))

    async def write(self) -> None:
        """Send the queued frames until the client disconnects."""
        clock = asyncio.get_running_loop().time
        while True:
            await self._filled.wait()
            self._filled.clear()
            while (text := self._outbox.take()) is not None:
                self._sending_since = clock()
                try:
                    await self._send({"type": "websocket.send", "text": text})
                except (OSError, RuntimeError):
                    # ASGI servers raise the one when the client is gone, and the other when
                    # they have closed the socket themselves, for too large a frame.
                    return
                self._sending_since = None
            self.drained.set()

    async def _answer(
        self, commands: CommandRegistry, frame: CommandRequest | Notification
    ) -> None:
        try:
            outcome = await run_command(
                commands, frame.method, frame.params, Caller(self.person, self)
            )
        finally:
            self._slots.release()
        if isinstance(frame, CommandRequest):
            text, _ = await render_outcome(outcome, {"jsonrpc": "2.0", "id": frame.id})
            self.put(Frame(text))

    def _refuse(self, frame: Invalid) -> None:
        if not frame.is_silent:
            self.put(Frame(render_error(frame.id, frame.code, frame.message)))

    def _is_stalled(self) -> bool:
        if self._sending_since is None:
            return False
        return asyncio.get_running_loop().time() - self._sending_since > self._max_stall_s


class Sessions:
    """The connected clients: an ASGI application for `/ws`.

    Args:
        max_stall_s: Longest wait for a client that does not read at all.
    """

    def __init__(self, host: Host, *, max_stall_s: float = MAX_STALL_S) -> None:
        self._host = host
        self._max_stall_s = max_stall_s
        self._sessions: set[ClientSession] = set()
        self._of_person: dict[PersonId, set[ClientSession]] = {}
        self._tasks = TaskOwner("the socket")
        self._commands: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._sessions)

    def publish(self, event: str, payload: Mapping[str, Any], audience: Audience) -> None:
        """Send an event to the clients of its audience; one that is not JSON is logged instead."""
        hearing = self._host.access.hearing(audience, self._of_person.keys())
        if not hearing:
            return
        try:
            frame = event_frame(event, payload)
        except ValueError:
            _log.exception("Event %s is not JSON and was not sent", event)
            return
        wire = wire_frame(frame.text)
        for person in hearing:
            for session in self._of_person[person]:
                session.put_shared(frame, wire)

    def browsers(self) -> frozenset[str]:
        """The browser sessions that have a client here."""
        return frozenset(session.browser for session in self._sessions if session.browser)

    def end(self, browsers: frozenset[str]) -> None:
        """Disconnect all clients of these browser sessions."""
        for session in tuple(self._sessions):
            if session.browser in browsers:
                session.leave()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client from its handshake until it disconnects.

        Commands that it started go on: closing a tab must not throw an answer away.
        """
        if (await receive())["type"] != "websocket.connect":
            return
        protocol = SUBPROTOCOL if SUBPROTOCOL in scope.get("subprotocols", ()) else None
        await send({"type": "websocket.accept", "subprotocol": protocol})
        let_in = admitted(scope)
        session = ClientSession(
            receive,
            send,
            shared_writer(scope),
            person=let_in.person,
            max_stall_s=self._max_stall_s,
            browser=let_in.session_id,
        )
        self._sessions.add(session)
        self._of_person.setdefault(session.person, set()).add(session)
        greeting = self._tasks.spawn(self._greet(session))
        try:
            await _serve(session, self._host, self._run)
        finally:
            self._forget(session)
            await asyncio.wait([greeting])
            await self._part(session)

    async def close(self, grace_s: float = STOP_GRACE_S) -> None:
        """End running commands; the server closes the connections.

        Args:
            grace_s: Time for commands to end by themselves and for clients to be told.
        """
        try:
            async with asyncio.timeout(grace_s):
                if self._commands:
                    await asyncio.wait(self._commands)
                for session in tuple(self._sessions):
                    await session.drained.wait()
        except TimeoutError:
            _log.info("Clients are gone or busy; not waiting for them")
        await self._tasks.close(grace_s)

    def _forget(self, session: ClientSession) -> None:
        self._sessions.discard(session)
        others = self._of_person[session.person]
        others.discard(session)
        if not others:
            del self._of_person[session.person]

    def _run(self, command: Coroutine[Any, Any, None]) -> None:
        try:
            task = self._tasks.spawn(command)
        except RuntimeError:
            return  # closed; the socket is about to close
        self._commands.add(task)
        task.add_done_callback(self._commands.discard)

    async def _greet(self, session: ClientSession) -> None:
        try:
            await self._host.client_connected(session)
        except Exception:  # noqa: BLE001 - the client can be served without it
            _log.exception("Greeting a client failed")

    async def _part(self, session: ClientSession) -> None:
        try:
            await self._host.client_disconnected(session)
        except Exception:  # noqa: BLE001 - the client is gone all the same
            _log.exception("Parting from a client failed")


async def _serve(session: ClientSession, host: Host, run: Run) -> None:
    """Read and write until either ends, or the client lags too far behind."""
    ends = [
        asyncio.create_task(session.read(host, run)),
        asyncio.create_task(session.write()),
    ]
    try:
        await asyncio.wait([*ends, session.gone], return_when=asyncio.FIRST_COMPLETED)
    finally:
        session.leave()
        for end in ends:
            end.cancel()
        outcomes = await asyncio.gather(*ends, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome


def _content_of(message: Message) -> str | bytes:
    text: str | None = message.get("text")
    return text if text is not None else message.get("bytes") or b""
