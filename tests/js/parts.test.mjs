import assert from "node:assert/strict";
import { test } from "node:test";
import { newest } from "../../static/lib/newest.js";
import { changeInWords, partsOf, totalInWords } from "../../static/panel/parts.js";

const NAMES = { system: "System prompt", contexts: "Notes", history: "Messages", message: "This message" };
const TOKENS = { history: 300, message: 100, system: 0, contexts: 600 };

test("parts stand in the order in which they are sent, without those that cost nothing", () => {
  assert.deepEqual(partsOf(TOKENS, NAMES, null).map(({ part }) => part), ["contexts", "history", "message"]);
});

test("without a window the parts share the whole bar", () => {
  assert.deepEqual(partsOf(TOKENS, NAMES, null).map(({ share }) => share), [0.6, 0.3, 0.1]);
});

test("with a window they take their share of it, and never more than the bar", () => {
  assert.deepEqual(partsOf(TOKENS, NAMES, 10_000).map(({ share }) => share), [0.06, 0.03, 0.01]);
  const over = partsOf(TOKENS, NAMES, 500).reduce((sum, { share }) => sum + share, 0);
  assert.ok(Math.abs(over - 1) < 1e-9);
});

for (const [tokens, room, words] of /** @type {const} */ ([
  [1, null, "1 token"],
  [1240, null, "1,240 tokens"],
  [1240, 128_000, "1,240 tokens · under 1 % of 128,000"],
  [64_000, 128_000, "64,000 tokens · 50 % of 128,000"],
  [0, 128_000, "0 tokens · 0 % of 128,000"],
])) {
  test(`${tokens} of ${room} is told as ${words}`, () => assert.equal(totalInWords(tokens, room), words));
}

for (const [change, words] of /** @type {const} */ ([
  [{ messages: 4, tokens: 812, added_count: 4, removed_count: 0 }, "+4 messages, +812 tokens"],
  [{ messages: -1, tokens: -1, added_count: 0, removed_count: 1 }, "−1 message, −1 token"],
  [{ messages: 0, tokens: 9, added_count: 2, removed_count: 2 }, "+2 −2 messages, +9 tokens"],
  [{ messages: 0, tokens: 0, added_count: 0, removed_count: 0 }, "no change"],
])) {
  test(`a change is told as ${words}`, () => assert.equal(changeInWords(change), words));
}

test("only the answer to what was asked last is shown", async () => {
  /** @type {string[]} */
  const shown = [];
  const wish = newest(0, (/** @type {string} */ answer) => shown.push(answer));
  /** @type {((answer: string) => void)[]} */
  const answers = [];
  const ask = () => new Promise((/** @type {(answer: string) => void} */ resolve) => answers.push(resolve));
  const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
  wish.ask(ask);
  await turn();
  wish.ask(ask);
  await turn();
  answers[1]("new");
  answers[0]("old");
  await turn();
  assert.deepEqual(shown, ["new"]);
  wish.ask(ask);
  await turn();
  wish.forget();
  answers[2]("forgotten");
  await turn();
  assert.deepEqual(shown, ["new"]);
});
