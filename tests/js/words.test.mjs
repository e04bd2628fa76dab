import assert from "node:assert/strict";
import { test } from "node:test";
import { fontSize } from "../../static/cloud/fit.js";
import { fnv1a, HUES, huesOf } from "../../static/cloud/hues.js";
import { messagesCounted, reasonOf, visible } from "../../static/lib/text.js";

test("a hash is the one that the server computes", () => {
  assert.equal(fnv1a(""), 0x811c9dc5);
  assert.equal(fnv1a("LangGraph"), 31570743);
  assert.equal(fnv1a("成都"), 3769958668);
});

test("hues are the ones that the server computes", () => {
  const labels = ["LangGraph", "Python Async", "Debugging", "Sourdough Bread", "成都", "Tax", "😀 Fun", "｡ Half"];
  assert.deepEqual(Object.fromEntries(huesOf(labels)), {
    Debugging: 3, LangGraph: 8, "Python Async": 11, "Sourdough Bread": 1, Tax: 10, 成都: 4, "｡ Half": 6, "😀 Fun": 9,
  });
});

test("up to twelve topics have twelve hues, and more still have one each", () => {
  const labels = Array.from({ length: 15 }, (_, i) => `Topic ${i}`);
  assert.equal(new Set(huesOf(labels.slice(0, HUES)).values()).size, HUES);
  assert.equal(huesOf(labels).size, 15);
});

test("direction controls are visible, and nothing else is changed", () => {
  assert.equal(visible("a\u202eb\u2066"), "a⟦U+202E⟧b⟦U+2066⟧");
  assert.equal(visible("שלום 你好 👩‍👩‍👧"), "שלום 你好 👩‍👩‍👧");
});

test("one message is not one messages", () => {
  assert.deepEqual([0, 1, 2].map(messagesCounted), ["0 messages", "1 message", "2 messages"]);
});

test("whatever is thrown has words", () => {
  assert.equal(reasonOf(new Error("full")), "full");
  assert.equal(reasonOf("x"), "x");
});

test("a longer word gets smaller type, within what can be read", () => {
  assert.ok(fontSize("Internationalisation", 80) < fontSize("Tax", 80));
  assert.ok(fontSize("Donaudampfschifffahrtsgesellschaft", 60) >= 9);
  assert.ok(fontSize("A", 400) <= 16);
});
