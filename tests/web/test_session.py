import asyncio
import json

import pytest

from smart_context.host.access import EVERYBODY
from smart_context.web.limits import MAX_FRAME_BYTES, MAX_RUNNING_COMMANDS
from smart_context.web.session import Sessions
from smart_context.web.shared_frames import EXTENSION
from smart_context.web.wire import render_json
from tests.patience import PATIENCE_S, settled
from tests.web.asking import asked_by
from tests.web.small_host import SmallHost

pytestmark = pytest.mark.anyio


class Peer:
    """The other end of an ASGI WebSocket, in the same loop."""

    def __init__(self, host, sessions, *, shares_frames=False):
        self.host = host
        self.sessions = sessions
        self.incoming = asyncio.Queue()
        self.outgoing = asyncio.Queue()
        self.writable = asyncio.Event()
        self.writable.set()
        self.is_broken = False
        self.incoming.put_nowait({"type": "websocket.connect"})
        self.takes_frames = True
        extensions = {EXTENSION: {"write": self._write_frame}} if shares_frames else {}
        scope = {"type": "websocket", "path": "/ws", "extensions": extensions}
        self.app = asyncio.create_task(asked_by(sessions)(scope, self.incoming.get, self._send))

    async def _send(self, message):
        await self.writable.wait()
        if self.is_broken:
            raise OSError
        self.outgoing.put_nowait(message)

    def _write_frame(self, wire):
        if self.takes_frames:
            assert wire[:2] == b"\x81" + bytes([len(wire) - 2])
            self.outgoing.put_nowait({"text": wire[2:].decode()})
        return self.takes_frames

    async def opened(self):
        assert (await self.outgoing.get())["type"] == "websocket.accept"
        assert (await self.read())["method"] == "ui.register_panel"
        return self

    async def read(self):
        async with asyncio.timeout(PATIENCE_S):
            return json.loads((await self.outgoing.get())["text"])

    def write(self, raw):
        kind = "text" if isinstance(raw, str) else "bytes"
        self.incoming.put_nowait({"type": "websocket.receive", kind: raw})

    def call(self, request_id, method, **params):
        self.write(
            json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        )

    async def ask(self, method, **params):
        self.call("ask", method, **params)
        reply = await self.read()
        assert reply["id"] == "ask"
        return reply["result"]

    async def leave(self):
        self.incoming.put_nowait({"type": "websocket.disconnect", "code": 1001})
        async with asyncio.timeout(PATIENCE_S):
            await self.app


@pytest.fixture
async def sessions():
    host = SmallHost()
    sessions = Sessions(host)
    yield sessions
    host.gate.set()
    await sessions.close()


@pytest.fixture
async def peer(sessions):
    peer = await Peer(sessions._host, sessions).opened()
    yield peer
    peer.writable.set()
    if not peer.app.done():
        await peer.leave()


async def another(sessions):
    return await Peer(sessions._host, sessions).opened()


async def test_a_request_gets_its_reply(peer):
    peer.call(7, "test.echo", text="日本")
    assert await peer.read() == {
        "jsonrpc": "2.0", "id": 7, "result": {"text": "日本", "number": 0},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        pytest.param("test.nothing", {}, -32601, "no command", id="no such command"),
        pytest.param("test.echo", {"text": 1}, -32602, "text", id="bad parameters"),
        pytest.param("test.refuse", {"chat_id": "../x"}, -32602, "../x", id="a bad chat id"),
        pytest.param("test.fail", {}, -32603, "the disk is full", id="a failure"),
        pytest.param("test.crash", {}, -32603, "log", id="a fault"),
        pytest.param("test.odd", {}, -32603, "log", id="a result that is not JSON"),
    ],
)
async def test_what_goes_wrong_is_told_with_its_code(peer, method, params, code, words):
    peer.call(1, method, **params)
    reply = await peer.read()
    assert (reply["id"], reply["error"]["code"]) == (1, code)
    assert words in reply["error"]["message"]
    assert "secret detail" not in reply["error"]["message"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        pytest.param("{", -32700, id="not JSON"),
        pytest.param(b"\xff", -32700, id="not UTF-8"),
        pytest.param("[]", -32600, id="a batch"),
        pytest.param("[" * 9999 + "]" * 9999, -32600, id="nested too deeply"),
        pytest.param(" " * (MAX_FRAME_BYTES + 1), -32600, id="too large"),
    ],
)
async def test_a_frame_that_is_no_request_gets_one_error_and_the_next_one_works(peer, raw, code):
    peer.write(raw)
    reply = await peer.read()
    assert (reply["id"], reply["error"]["code"]) == (None, code)
    assert await peer.ask("test.echo", text="still here") == {"text": "still here", "number": 0}


async def test_a_notification_is_run_and_gets_no_reply(peer):
    for method in ("test.crash", "test.nothing", "test.open_gate"):
        peer.write(json.dumps({"jsonrpc": "2.0", "method": method}))
    peer.write(json.dumps({"jsonrpc": "2.0", "method": "test.echo", "params": [1]}))
    assert await peer.ask("test.who") == {"chat_id": "nobody"}
    assert peer.host.gate.is_set()
    assert peer.outgoing.empty()


async def test_a_binary_frame_of_utf_8_is_a_request_too(peer):
    peer.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "test.who"}).encode())
    assert (await peer.read())["id"] == 1


async def test_a_slow_command_does_not_hold_up_the_next_one(peer):
    peer.call("slow", "test.wait")
    peer.call("stop", "test.open_gate")
    assert (await peer.read())["id"] == "stop"
    assert (await peer.read())["id"] == "slow"


async def test_more_commands_than_may_run_at_once_are_all_answered(peer):
    for number in range(3 * MAX_RUNNING_COMMANDS):
        peer.call(number, "test.echo", number=number)
    found = {(await peer.read())["id"] for _ in range(3 * MAX_RUNNING_COMMANDS)}
    assert found == set(range(3 * MAX_RUNNING_COMMANDS))


async def test_only_so_many_commands_of_a_client_run_at_once(peer, sessions):
    for number in range(MAX_RUNNING_COMMANDS + 1):
        peer.call(number, "test.wait")
    await settled()
    assert len(sessions._commands) == MAX_RUNNING_COMMANDS
    peer.host.gate.set()
    for _ in range(MAX_RUNNING_COMMANDS + 1):
        await peer.read()


async def test_a_command_without_chat_id_means_the_chat_that_this_client_opened(peer, sessions):
    other = await another(sessions)
    await peer.ask("chat.open", chat_id="a")
    assert await peer.ask("test.who") == {"chat_id": "a"}
    assert await other.ask("test.who") == {"chat_id": "nobody"}
    await other.leave()


async def test_every_client_gets_every_event_in_order(peer, sessions):
    other = await another(sessions)
    for number in range(3):
        sessions.publish("chat.started", {"number": number}, EVERYBODY)
    for client in (peer, other):
        assert [(await client.read())["params"]["number"] for _ in range(3)] == [0, 1, 2]
    await other.leave()


async def test_an_event_is_rendered_once_for_all_clients(peer, sessions):
    other = await another(sessions)
    sessions.publish("chat.started", {"chat_id": "a"}, EVERYBODY)
    messages = [await client.outgoing.get() for client in (peer, other)]
    assert messages[0]["text"] is messages[1]["text"]
    await other.leave()


async def test_a_shared_frame_is_written_at_once_where_the_server_can(sessions):
    peer = await Peer(sessions._host, sessions, shares_frames=True).opened()
    sessions.publish("chat.started", {"number": 1}, EVERYBODY)
    assert json.loads(peer.outgoing.get_nowait()["text"])["params"] == {"number": 1}
    await peer.leave()
    sessions.publish("chat.started", {"number": 2}, EVERYBODY)
    assert peer.outgoing.empty()


async def test_a_shared_frame_does_not_overtake_what_waits(sessions):
    peer = await Peer(sessions._host, sessions, shares_frames=True).opened()
    peer.writable.clear()
    peer.takes_frames = False
    sessions.publish("chat.started", {"number": 1}, EVERYBODY)
    peer.takes_frames = True
    sessions.publish("chat.started", {"number": 2}, EVERYBODY)
    await settled()
    sessions.publish("chat.started", {"number": 3}, EVERYBODY)
    assert peer.outgoing.empty()
    peer.writable.set()
    assert [(await peer.read())["params"]["number"] for _ in range(3)] == [1, 2, 3]
    sessions.publish("chat.started", {"number": 4}, EVERYBODY)
    assert (await peer.read())["params"]["number"] == 4
    await peer.leave()


async def test_an_event_that_is_not_json_is_logged_and_the_next_one_sent(peer, sessions, caplog):
    sessions.publish("x.odd", {"value": float("nan")}, EVERYBODY)
    sessions.publish("x.even", {}, EVERYBODY)
    assert (await peer.read())["method"] == "x.even"
    assert "x.odd" in caplog.text


async def test_a_client_that_does_not_read_delays_nobody(peer, sessions):
    other = await another(sessions)
    peer.writable.clear()
    for number in range(5):
        sessions.publish("chat.started", {"number": number}, EVERYBODY)
        assert (await other.read())["params"] == {"number": number}
    assert await other.ask("test.who")
    await other.leave()


async def test_a_client_that_reads_late_gets_answers_whole_and_states_once(peer, sessions):
    peer.writable.clear()
    sessions.publish("chat.started", {"chat_id": "a"}, EVERYBODY)
    await settled()
    for offset in range(50):
        token = {"chat_id": "a", "message_id": "m", "offset": offset, "text": "x"}
        sessions.publish("chat.token", token, EVERYBODY)
        sessions.publish("memory.chat_changed", {"chat_id": "a"}, EVERYBODY)
    sessions.publish("chat.finished", {"chat_id": "a"}, EVERYBODY)
    peer.writable.set()
    frames = [await peer.read() for _ in range(4)]
    assert [frame["method"] for frame in frames] == [
        "chat.started", "chat.token", "memory.chat_changed", "chat.finished",
    ]  # fmt: skip
    assert frames[1]["params"]["text"] == "x" * 50
    await settled()
    assert peer.outgoing.empty()


async def test_a_client_that_lags_too_far_behind_is_disconnected(peer, sessions):
    other = await another(sessions)
    peer.writable.clear()
    payload = {"text": "x" * 2**20}
    for _ in range(12):
        sessions.publish("x.large", payload, EVERYBODY)
        await other.read()
    async with asyncio.timeout(PATIENCE_S):
        await peer.app
    assert len(sessions) == 1
    await other.leave()


async def test_one_reply_may_be_larger_than_what_may_wait(peer):
    peer.host.commands.register("test.large", large)
    assert len((await peer.ask("test.large"))["text"]) == 12 * 2**20
    assert await peer.ask("test.who")


async def large() -> dict:
    return {"text": "x" * 12 * 2**20}


async def test_a_client_that_reads_nothing_for_too_long_is_disconnected():
    host = SmallHost()
    sessions = Sessions(host, max_stall_s=-1.0)
    peer = await another(sessions)
    peer.writable.clear()
    sessions.publish("chat.started", {}, EVERYBODY)
    await settled()
    sessions.publish("chat.started", {}, EVERYBODY)
    async with asyncio.timeout(PATIENCE_S):
        await peer.app
    await sessions.close()


async def test_a_client_that_keeps_up_is_never_taken_for_one_that_does_not():
    host = SmallHost()
    sessions = Sessions(host, max_stall_s=-1.0)
    peer = await another(sessions)
    for number in range(3):
        sessions.publish("chat.started", {"number": number}, EVERYBODY)
        assert (await peer.read())["params"] == {"number": number}
    await peer.leave()
    await sessions.close()


async def test_at_the_end_a_client_that_is_a_little_late_gets_what_waits(peer, sessions):
    peer.writable.clear()
    sessions.publish("chat.finished", {"chat_id": "a"}, EVERYBODY)
    closing = asyncio.create_task(sessions.close())
    await settled()
    assert not closing.done()
    peer.writable.set()
    await closing
    assert "chat.finished" in peer.outgoing.get_nowait()["text"]


async def test_what_is_sent_to_a_client_that_left_is_dropped(peer, sessions):
    [client] = peer.host.clients
    await peer.leave()
    assert client.gone.done()
    client.send("chat.started", {})
    assert peer.outgoing.empty()
    assert len(client._outbox) == 0


async def test_a_client_that_breaks_off_is_forgotten(peer, sessions):
    peer.is_broken = True
    sessions.publish("chat.started", {}, EVERYBODY)
    async with asyncio.timeout(PATIENCE_S):
        await peer.app
    assert len(sessions) == 0
    assert peer.host.clients == []
    sessions.publish("chat.started", {}, EVERYBODY)


async def test_a_command_goes_on_when_its_client_leaves(peer, sessions):
    peer.call(1, "test.wait")
    await settled()
    assert peer.host.running.is_set()
    await peer.leave()
    assert not peer.host.finished.is_set()
    peer.host.gate.set()
    await sessions.close()
    assert peer.host.finished.is_set()


async def test_at_the_end_a_command_that_ends_in_time_is_answered(peer, sessions):
    peer.call(1, "test.wait")
    await settled()
    assert peer.host.running.is_set()
    closing = asyncio.create_task(sessions.close())
    await settled()
    peer.host.gate.set()
    await closing
    assert peer.outgoing.get_nowait()["text"] == render_json(
        {"jsonrpc": "2.0", "id": 1, "result": {"waited": True}}
    )


async def test_at_the_end_a_command_that_does_not_end_is_cancelled(peer, sessions):
    peer.call(1, "test.wait")
    await settled()
    assert peer.host.running.is_set()
    await sessions.close(grace_s=0.01)
    assert not sessions._commands
    peer.call(2, "test.who")
    await peer.leave()
    assert not peer.host.finished.is_set()


async def test_a_host_that_fails_to_greet_or_part_is_logged_and_the_client_served(caplog):
    host = SmallHost()

    async def fail(client):
        raise ZeroDivisionError

    host.client_connected = fail
    host.client_disconnected = fail
    sessions = Sessions(host)
    peer = Peer(host, sessions)
    assert (await peer.outgoing.get())["type"] == "websocket.accept"
    assert await peer.ask("test.who")
    await peer.leave()
    await sessions.close()
    assert [record.message.split()[0] for record in caplog.records] == ["Greeting", "Parting"]
    assert len(sessions) == 0


async def test_a_host_that_is_slow_to_greet_holds_up_nobody(sessions):
    host = sessions._host
    greet = asyncio.Event()
    host.client_connected = lambda client: greet.wait()
    host.client_disconnected = lambda client: asyncio.sleep(0)
    peer = Peer(host, sessions)
    assert (await peer.outgoing.get())["type"] == "websocket.accept"
    assert await peer.ask("test.who")
    greet.set()
    await peer.leave()
