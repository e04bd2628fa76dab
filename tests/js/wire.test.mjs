import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { waitMs, Wire, WireError } from "../../static/wire.js";

class Socket {
  /** @type {any[]} */
  sent = [];
  send(/** @type {string} */ text) {
    this.sent.push(JSON.parse(text));
  }
  say(/** @type {unknown} */ frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }
}

/** Lets what was promised happen. */
const happened = () => new Promise(setImmediate);

function connected(answers = async () => true) {
  /** @type {any[]} */
  const sockets = [];
  /** @type {unknown[]} */
  const faults = [];
  const wire = new Wire("ws://x/ws", {
    open: () => {
      sockets.push(new Socket());
      return sockets.at(-1);
    },
    answers,
    random: () => 0,
    report: (error) => faults.push(error),
  });
  wire.connect();
  sockets[0].onopen();
  return { wire, sockets, faults };
}

test("each answer goes to its own question, in whatever order they come", async () => {
  const { wire, sockets: [socket] } = connected();
  const slow = wire.call("chat.send", { message: "hi" });
  const quick = wire.call("chat.stop");
  const [first, second] = socket.sent;
  assert.deepEqual(first, { jsonrpc: "2.0", id: first.id, method: "chat.send", params: { message: "hi" } });
  socket.say({ jsonrpc: "2.0", id: second.id, result: "stopped" });
  socket.say({ jsonrpc: "2.0", id: first.id, result: "sent" });
  assert.deepEqual([await slow, await quick], ["sent", "stopped"]);
});

test("a failed command says why", async () => {
  const { wire, sockets: [socket] } = connected();
  const call = wire.call("a.b");
  socket.say({ jsonrpc: "2.0", id: socket.sent[0].id, error: { code: -32603, message: "the disk is full" } });
  await assert.rejects(call, (error) => error instanceof WireError && error.message === "the disk is full" && error.code === -32603);
});

test("events reach their listeners until they stop listening", () => {
  const { wire, sockets: [socket] } = connected();
  /** @type {any[]} */
  const heard = [];
  const stop = wire.on("chat.token", (news) => heard.push(news.text));
  socket.say({ jsonrpc: "2.0", method: "chat.token", params: { text: "a" } });
  socket.say({ jsonrpc: "2.0", method: "other.event", params: { text: "b" } });
  stop();
  socket.say({ jsonrpc: "2.0", method: "chat.token", params: { text: "c" } });
  assert.deepEqual(heard, ["a"]);
});

test("frames that make no sense are passed over", () => {
  const { wire, sockets: [socket] } = connected();
  socket.onmessage({ data: "{" });
  socket.onmessage({ data: "null" });
  socket.say({ jsonrpc: "2.0", id: 99, result: 1 });
  assert.equal(wire.isOpen, true);
});

test("a lost connection fails what is pending, and comes back by itself", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { wire, sockets } = connected();
  /** @type {any[]} */
  const statuses = [];
  wire.onStatus((status, attempt) => statuses.push([status, attempt]));
  const pending = wire.call("chat.send");
  sockets[0].onclose();
  await assert.rejects(pending, /connection was lost/);
  await assert.rejects(wire.call("a.b"), /Can’t reach the server/);
  mock.timers.tick(waitMs(1, 0) - 1);
  assert.equal(sockets.length, 1);
  mock.timers.tick(1);
  await happened();
  assert.equal(sockets.length, 2);
  sockets[1].onclose();
  mock.timers.tick(waitMs(2, 0));
  await happened();
  sockets[2].onopen();
  assert.deepEqual(statuses, [["lost", 1], ["lost", 2], ["open", 0]]);
  const again = wire.call("a.b");
  sockets[2].say({ jsonrpc: "2.0", id: sockets[2].sent[0].id, result: 1 });
  assert.equal(await again, 1);
  mock.timers.reset();
});

test("connecting twice opens one socket", async () => {
  const { wire, sockets } = connected();
  wire.connect();
  assert.equal(sockets.length, 1);
  sockets[0].onclose();
  wire.connect();
  wire.connect();
  await happened();
  assert.equal(sockets.length, 2);
});

test("no socket is opened to a server that does not answer", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let isThere = false;
  const { wire, sockets } = connected(async () => isThere);
  /** @type {any[]} */
  const attempts = [];
  wire.onStatus((_, attempt) => attempts.push(attempt));
  sockets[0].onclose();
  wire.connect();
  await happened();
  assert.deepEqual([sockets.length, attempts], [1, [1, 2]]);
  isThere = true;
  mock.timers.tick(waitMs(2, 0));
  await happened();
  assert.equal(sockets.length, 2);
  mock.timers.reset();
});

test("waiting doubles up to a limit, with jitter", () => {
  assert.deepEqual([1, 2, 3].map((attempt) => waitMs(attempt, 0)), [200, 400, 800]);
  assert.ok(waitMs(50, 0.999) <= 15_000);
  assert.ok(waitMs(3, 0.9) > waitMs(3, 0.1));
});

test("a listener that fails is reported, and keeps the event from no other", () => {
  const { wire, sockets: [socket], faults } = connected();
  /** @type {any[]} */
  const heard = [];
  wire.on("a.b", () => {
    throw new Error("my fault");
  });
  wire.on("a.b", () => heard.push(1));
  socket.say({ jsonrpc: "2.0", method: "a.b" });
  assert.deepEqual(heard, [1]);
  assert.match(String(faults), /my fault/);
});

test("a command waits for the first connection, and is not sent if that fails", async () => {
  for (const isMade of [true, false]) {
    /** @type {any} */
    const socket = new Socket();
    const wire = new Wire("ws://x/ws", { open: () => socket, random: () => 0, report: () => {} });
    mock.timers.enable({ apis: ["setTimeout"] });
    wire.connect();
    const call = wire.call("a.b");
    assert.equal(socket.sent.length, 0);
    if (isMade) {
      socket.onopen();
      await new Promise(setImmediate);
      socket.say({ jsonrpc: "2.0", id: socket.sent[0].id, result: "done" });
      assert.equal(await call, "done");
    } else {
      socket.onclose();
      await assert.rejects(call, /Can’t reach the server/);
      assert.equal(socket.sent.length, 0);
    }
    mock.timers.reset();
  }
});
