import assert from "node:assert/strict";
import { rereadInWords } from "../../static/panel/sends/cost.js";
import { test } from "node:test";
import { behindInWords } from "../../static/cloud/cloud-view.js";
import { fit, roomFor } from "../../static/cloud/fit.js";
import { coloursOf, fnv1a, hueOf } from "../../static/cloud/hues.js";
import { hintOf } from "../../static/frame/palette.js";
import { stateInWords } from "../../static/messages/answers/answer-state.js";
import { tryAgainInWords } from "../../static/messages/answers/try-again.js";
import { possibleWidth } from "../../static/frame/side-width.js";
import { writesAnswers } from "../../static/lib/model-list.js";
import { inWords } from "../../static/messages/chat-import.js";
import { arrangedInWords } from "../../static/messages/chat-selection.js";
import { counted, decoded, messagesCounted, money, reasonOf, visible } from "../../static/lib/text.js";

test("a hash is the one that the server computes", () => {
  assert.equal(fnv1a(""), 0x811c9dc5);
  assert.equal(fnv1a("LangGraph"), 31570743);
  assert.equal(fnv1a("成都"), 3769958668);
});

test("the palette says how large a topic is, also of one that is picked", () => {
  assert.equal(hintOf(true, "8 messages"), "Picked · 8 messages");
  assert.deepEqual([hintOf(true, ""), hintOf(false, "8 messages")], ["Picked", "8 messages"]);
});

test("a hue is the one that the server computes", () => {
  assert.deepEqual(["t1", "t2", "成都"].map(hueOf), [10, 11, 4]);
});

test("a colour is the one that the server computes", () => {
  const parts = ["p1", "p2"].map((id) => ({ id, parent_id: "t1" }));
  const topics = [{ id: "t2" }, { id: "t1" }, { id: "t13" }, ...parts, { id: "p3", parent_id: "gone" }];
  const colours = Object.fromEntries(coloursOf(topics));
  assert.deepEqual(colours, { t1: "10", t13: "7", t2: "4", p1: "10 s1", p2: "10 s2", p3: "0" });
  const many = coloursOf(Array.from({ length: 12 }, (_, n) => ({ id: `x${n}` })));
  assert.equal(new Set(many.values()).size, 12);
  const six = coloursOf(Array.from({ length: 6 }, (_, n) => ({ id: `y${n}` })));
  assert.deepEqual(Object.fromEntries(six), { y0: "4", y1: "0", y2: "2", y3: "6", y4: "8", y5: "10" });
});

test("direction controls are visible, and nothing else is changed", () => {
  assert.equal(visible("a\u202eb\u2066"), "a⟦U+202E⟧b⟦U+2066⟧");
  assert.equal(visible("שלום 你好 👩‍👩‍👧"), "שלום 你好 👩‍👩‍👧");
});

test("one message is not one messages", () => {
  assert.deepEqual([0, 1, 2].map(messagesCounted), ["0 messages", "1 message", "2 messages"]);
  assert.equal(messagesCounted(10_000), "10,000 messages");
});

test("a part of an address is decoded, and stays as it is if it encodes nothing", () => {
  assert.equal(decoded("m-a%20b"), "m-a b");
  assert.equal(decoded("100%"), "100%");
});

test("whatever is thrown has words", () => {
  assert.equal(reasonOf(new Error("full")), "full");
  assert.equal(reasonOf("x"), "x");
});

test("what went wrong names no file and no command", () => {
  const told = [
    "It is away. Is the server running? Check base_url in the [llm] table of .vault.toml.",
    "It refused the request with status 404. The address of an API usually ends with /v1. Check the model's name in the [llm.categories] table of .vault.toml, and base_url in the [llm] table of .vault.toml.",
    "It refused the request with status 429: slow. Wait 4 s, then try again.",
    "It refused the request with status 401. Check the key, and enter it again under Settings or with: smart-context models add",
    "Enter a key under Settings, or put it into an environment variable and name that variable as api_key_env in the [llm] table of .vault.toml.",
    "Try again, or raise timeout_s in the [llm] table of .vault.toml: slow local models can need minutes.",
  ].map(reasonOf);
  assert.equal(told[0], "It is away. Is the server running? Check the address under Settings.");
  assert.ok(told[1].endsWith("Check the model's name, and the address under Settings."));
  assert.equal(told[2], "It takes no more requests now (429): slow. Wait 4 s, then try again.");
  assert.equal(told[3], "It did not accept the key (401). Check the key, and enter it again under Settings.");
  assert.equal(told[4], "Enter a key under Settings.");
  for (const words of told) assert.doesNotMatch(words, /toml|smart-context|base_url|timeout_s|with status/);
});

test("models that write no answers are not offered", () => {
  const names = ["gpt-4o", "gemma3:12b", "nomic-embed-text:latest", "text-embedding-3-small", "bge-m3", "whisper-1", "all-minilm", "llama3.2", "tts-1"];
  assert.deepEqual(names.filter(writesAnswers), ["gpt-4o", "gemma3:12b", "llama3.2"]);
});

test("a longer word gets smaller type, within what can be read", () => {
  assert.ok(fit("Internationalisation", 110).size < fit("Tax", 110).size);
  assert.ok(fit("MySQL & Postgres", 90, undefined, 0).size > fit("MySQL & Postgres", 90).size);
  assert.ok(fit("Donaudampfschifffahrtsgesellschaft", 60).size >= 10);
  assert.ok(fit("A", 400).size <= 16);
});

const LABELS = [
  "Tax", "LangGraph", "Python Async Debugging", "Donaudampfschifffahrtsgesellschaftskapitän", "성도 여행 계획과 예산",
  "成都两周旅行计划与素食餐厅", "Rechtsschutzversicherungsgesellschaften", "a/b-c/d", "Ünïcode – Straße", "x".repeat(200),
];

test("the corners of a label stay within its bubble, in any language and size", () => {
  for (const label of LABELS) {
    for (let diameter = 60; diameter <= 184; diameter += 4) {
      const { size, width, lines } = fit(label, diameter);
      const corner = Math.hypot(width / 2, (size * lines * 1.2 + size) / 2);
      assert.ok(width > 0 && corner <= diameter / 2 - 4, `${label} in ${diameter}: ${corner}`);
    }
  }
});

test("a bubble grows for its label, but not for ever", () => {
  assert.equal(roomFor("Tax", 30), 30);
  assert.ok(roomFor("Python Async Debugging", 30) > 30);
  assert.equal(roomFor("x".repeat(200), 30), 48);
});

test("a silence is told once it is noteworthy", () => {
  assert.deepEqual([0, 4, 5, 8].map((seconds) => stateInWords({ seconds })), ["Writing", "Writing", "Writing · its last word came 5 s ago", "Writing · its last word came 8 s ago"]);
});

test("a model reads before it writes, and it is told how much, how far and for how long", () => {
  assert.equal(stateInWords({ seconds: 0, reads: true }), "Reading");
  assert.equal(stateInWords({ seconds: 7, reads: true }), "Reading · 7 s");
  assert.equal(stateInWords({ seconds: 28, reads: true, tokens: 899 }), "Reading 899 tokens · 28 s");
  assert.equal(stateInWords({ seconds: 28, reads: true, tokens: 8990, percent: 40 }), "Reading 40 % of 8,990 tokens · 28 s");
  assert.equal(stateInWords({ seconds: 2, reads: true, wait: 3 }), "The model is busy; trying again in 3 s");
});

test("the button counts down to when it makes sense", () => {
  assert.deepEqual([4, 1, 0, -1].map(tryAgainInWords), ["Try again in 4 s", "Try again in 1 s", "Try again", "Try again"]);
});

test("a bubble says how much of its topic stands before a summary or a clearing", () => {
  assert.deepEqual([[0, 4], [3, 4], [4, 4]].map(([gone, count]) => behindInWords(gone, count)), ["", "3 no longer sent", "none sent any more"]);
});

test("a panel is wide enough to be read, and leaves room for the chat", () => {
  assert.deepEqual([[100, 1280], [400, 1280], [900, 1280]].map(([wanted, window]) => possibleWidth(wanted, window)), [280, 400, 640]);
});

test("counts and money are written as the server writes them", () => {
  assert.deepEqual([1, 0, 1200].map((count) => counted(count, "token")), ["1 token", "0 tokens", "1,200 tokens"]);
  const amounts = [0, 0.00001, 0.0021, 0.05, 0.5, 1234.5];
  const dollars = ["$0.00", "under $0.0001", "$0.0021", "$0.05", "$0.50", "$1,234.50"];
  assert.deepEqual(amounts.map((amount) => money(amount, "USD")), dollars);
  assert.deepEqual(["EUR", "CHF", "points"].map((currency) => money(1.5, currency)), ["€1.50", "CHF\u00a01.50", "1.50 points"]);
});

test("a long word may be told in small type where there is no room for more", () => {
  const ruler = (text) => 0.55 * text.length;
  assert.equal(fit("Sourdough Loaf", 58, ruler, 0).isWhole, false);
  const small = fit("Sourdough Loaf", 58, ruler, 0, 8.5);
  assert.ok(small.isWhole && small.size < 10, JSON.stringify(small));
});

test("what was done with chats is told in words", () => {
  assert.equal(arrangedInWords(1, { pinned: true }), "The chat is pinned.");
  assert.equal(arrangedInWords(2, { folder: "Work" }), "2 chats are in the folder “Work”.");
  assert.equal(arrangedInWords(2, { folder: "" }), "2 chats are in no folder now.");
  assert.equal(arrangedInWords(1, { archived: false }), "The chat is out of the archive.");
});

test("chats without messages that can be read are told of an import, and not called known", () => {
  const none = { new: 1, grown: 0, unchanged: 0, deleted: 0, unreadable: 3, failed: [] };
  assert.equal(inWords(none), "1 new chat, 3 without messages that can be read.");
});

test("what a server reads again is told with the reason, if there is one", () => {
  const cost = { sent: 2000, unchanged: 40, reread: 1240, saved: 0 };
  assert.equal(rereadInWords(cost, "an earlier message is no longer sent"), "1,240 tokens are read again: an earlier message is no longer sent.");
  assert.equal(rereadInWords(cost, ""), "");
  assert.equal(rereadInWords({ ...cost, reread: 0 }, "an earlier message has changed"), "");
});
