import assert from "node:assert/strict";
import { test } from "node:test";
import { newest } from "../../static/lib/newest.js";
import { changeInWords, partsOf, totalInWords, windowInWords, withTopics } from "../../static/panel/sends/parts.js";

const NAMES = { system: "System prompt", contexts: "Notes", history: "Messages", message: "This message" };
const TOKENS = { history: 300, message: 100, system: 0, contexts: 600 };

test("parts are in the order in which they are sent, without those that cost nothing", () => {
  assert.deepEqual(partsOf(TOKENS, NAMES, 1000).map(({ part }) => part), ["contexts", "history", "message"]);
});

test("without a filter the parts share the whole bar", () => {
  assert.deepEqual(partsOf(TOKENS, NAMES, 1000).map(({ share }) => share), [0.6, 0.3, 0.1]);
});

test("with a filter they take their share of what would be sent without it", () => {
  assert.deepEqual(partsOf(TOKENS, NAMES, 10_000).map(({ share }) => share), [0.06, 0.03, 0.01]);
});

test("messages are split by topic, the largest first, and no share is lost", () => {
  const parts = partsOf(TOKENS, NAMES, 1000);
  const split = withTopics(parts, { cats: 50, boats: 150 });
  assert.deepEqual(split.map(({ name, tokens }) => [name, tokens]), [
    ["Notes", 600], ["boats", 150], ["cats", 50], ["Other messages", 100], ["This message", 100],
  ]);
  assert.ok(Math.abs(split.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
  assert.deepEqual(withTopics(parts, {}), parts);
});

for (const [tokens, unfiltered, words] of /** @type {const} */ ([
  [1, 1, "1 token"],
  [1588, 1588, "1,588 tokens"],
  [404, 1588, "404 of 1,588 tokens · 75 % less"],
  [9990, 10_000, "9,990 of 10,000 tokens · under 1 % less"],
  [0, 0, "Only your message"],
])) {
  test(`${tokens} of ${unfiltered} is told as ${words}`, () => assert.equal(totalInWords(tokens, unfiltered), words));
}

test("the window is named when it is known", () => {
  assert.equal(windowInWords(1240, null), "");
  assert.equal(windowInWords(1240, 128_000), "under 1 % of the model’s 128,000 tokens");
  assert.equal(windowInWords(64_000, 128_000, "Odd."), "50 % of the model’s 128,000 tokens. Odd.");
  assert.equal(windowInWords(64_000, null, "Odd."), "Odd.");
  assert.equal(windowInWords(64_000, 128_000), "50 % of the model’s 128,000 tokens");
});

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
