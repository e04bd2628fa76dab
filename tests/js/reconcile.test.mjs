import assert from "node:assert/strict";
import { test } from "node:test";
import { reconcile } from "../../static/lib/reconcile.js";

/** As much of an element as a list of messages needs. */
class Element {
  /** @type {Element[]} */
  children = [];
  /** @type {Element | null} */
  parent = null;
  /** @param {Record<string, string>} dataset */
  constructor(dataset = {}) {
    this.dataset = dataset;
    const isList = dataset.messageId === undefined;
    this.classList = { contains: (/** @type {string} */ name) => isList && name === "messages" };
  }
  get nextElementSibling() {
    return this.parent?.children[this.parent.children.indexOf(this) + 1] ?? null;
  }
  remove() {
    this.parent?.children.splice(this.parent.children.indexOf(this), 1);
    this.parent = null;
  }
  /** @param {Element} child @param {Element | null} next */
  insertBefore(child, next) {
    child.remove();
    this.children.splice(next ? this.children.indexOf(next) : this.children.length, 0, child);
    child.parent = this;
  }
}

/** @param {string} words  Messages as `id:version`, with `*` while they are written. */
function messages(words) {
  return words.split(" ").filter(Boolean).map((word) => {
    const [messageId, version] = word.replace("*", "").split(":");
    return new Element(word.includes("*") ? { messageId, version, generating: "" } : { messageId, version });
  });
}

/** @param {string} before @param {string} after @param {string[]} live @param {(old: Element) => boolean} update */
function reconciled(before, after, live = [], update = () => false) {
  const list = new Element();
  const shown = messages(before);
  for (const message of shown) list.insertBefore(message, null);
  const added = reconcile(/** @type {any} */ (list), /** @type {any} */ (messages(after)), (message) => live.includes(message.dataset.messageId ?? ""), /** @type {any} */ (update));
  return {
    order: list.children.map(({ dataset }) => `${dataset.messageId}:${dataset.version}`).join(" "),
    kept: list.children.filter((message) => shown.includes(message)).map(({ dataset }) => dataset.messageId).join(" "),
    added: added.map(({ dataset }) => dataset.messageId).join(" "),
  };
}

for (const [name, before, after, kept, added] of /** @type {const} */ ([
  ["nothing changed", "a:1 b:1", "a:1 b:1", "a b", ""],
  ["new messages at the end", "a:1 b:1", "a:1 b:1 c:1 d:1", "a b", "c d"],
  ["one changed", "a:1 b:1 c:1", "a:1 b:2 c:1", "a c", "b"],
  ["the first one changed", "a:1 b:1", "a:2 b:1", "b", "a"],
  ["one deleted", "a:1 b:1 c:1", "a:1 c:1", "a c", ""],
  ["the end removed", "a:1 b:1 c:1", "a:1", "a", ""],
  ["the beginning removed", "a:1 b:1 c:1", "b:1 c:1", "b c", ""],
  ["one in between", "a:1 c:1", "a:1 b:1 c:1", "a c", "b"],
  ["all others", "a:1 b:1", "x:1 y:1", "", "x y"],
  ["the first messages of a chat", "", "a:1 b:1", "", "a b"],
  ["an emptied chat", "a:1", "", "", ""],
])) {
  test(`the page follows the server: ${name}`, () => {
    const result = reconciled(before, after);
    assert.equal(result.order, after);
    assert.equal(result.added, added);
    assert.deepEqual(new Set(result.kept.split(" ")), new Set(kept.split(" ")));
  });
}

test("an answer that is being written is left alone until it is complete", () => {
  assert.equal(reconciled("a:1 b:1*", "a:1 b:2*", ["b"]).order, "a:1 b:1");
  assert.equal(reconciled("a:1 b:1*", "a:1 b:2", ["b"]).order, "a:1 b:2");
});

test("a message that can be changed in place stays, and is told as changed", () => {
  const result = reconciled("a:1 b:1 c:1", "a:1 b:2 c:2", [], (old) => old.dataset.messageId === "b");
  assert.deepEqual([result.kept, result.added], ["a b", "b c"]);
});

test("any two states: the order is the server's, and what did not change stays", () => {
  let state = 3;
  const random = (/** @type {number} */ below) => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8) % below;
  const words = () => [..."abcdefgh"].filter(() => random(3)).sort(() => random(3) - 1).map((id) => `${id}:${random(2)}`);
  for (let i = 0; i < 500; i++) {
    const [before, after] = [words(), words()];
    const result = reconciled(before.join(" "), after.join(" "));
    assert.equal(result.order, after.join(" "), `${before} -> ${after}`);
    const same = after.filter((word) => before.includes(word)).map((word) => word[0]);
    assert.deepEqual(new Set(result.kept.split(" ").filter(Boolean)), new Set(same), `${before} -> ${after}`);
  }
});
