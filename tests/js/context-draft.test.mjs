import assert from "node:assert/strict";
import { test } from "node:test";

import { holds, markOf, short, tickOf, withItem, wordsOf } from "../../static/contexts/context-draft.js";
import { stateOf } from "../../static/contexts/context-chip.js";

test("a row is ticked by itself, by what is around it, in part by what is in it, or not", () => {
  const items = ["projects/", "a.md#Plan"];
  assert.equal(tickOf(items, "projects/"), "chosen");
  assert.equal(tickOf(items, "projects/x/y.md"), "covered");
  assert.equal(tickOf(items, "projects/x/y.md#H"), "covered");
  assert.equal(tickOf(items, "a.md"), "partly");
  assert.equal(tickOf(items, "projects.md"), "none");
  assert.equal(tickOf(["b/c.md"], "b/"), "partly");
});

test("the whole vault is around everything, and is called so", () => {
  assert.equal(tickOf(["."], "projects/"), "covered");
  assert.equal(tickOf(["."], "."), "chosen");
  assert.deepEqual(withItem(["a.md", "b/"], ".", true), ["."]);
  assert.deepEqual(wordsOf("."), { name: "The whole vault", place: "" });
});

test("names that only begin alike are not within one another", () => {
  assert.equal(holds("a", "a.md"), false);
  assert.equal(holds("a.md", "a.md2"), false);
  assert.equal(holds("a/", "a/"), false);
});

test("what a new item brings with it is no item any more", () => {
  assert.deepEqual(withItem(["a/b.md", "a/c.md#H", "d.md"], "a/", true), ["d.md", "a/"]);
  assert.deepEqual(withItem(["a.md#H"], "a.md", true), ["a.md"]);
  assert.deepEqual(withItem(["a.md", "b.md"], "a.md", false), ["b.md"]);
  assert.deepEqual(withItem(["a/b.md"], "a/", false), ["a/b.md"]);
});

test("keys are shown by name and place, also with a # in a folder's name", () => {
  assert.deepEqual(wordsOf("x/y/note.md"), { name: "note", place: "x/y" });
  assert.deepEqual(wordsOf("C#/notes/a.md#Plan B"), { name: "a › Plan B", place: "C#/notes" });
  assert.deepEqual(wordsOf("a.md#^id"), { name: "a › ¶ id", place: "" });
  assert.deepEqual(wordsOf("x/y/"), { name: "y/", place: "x" });
  assert.deepEqual(wordsOf("src/main.py"), { name: "main.py", place: "src" });
});

test("the order in which options were set makes no other draft", () => {
  assert.equal(markOf(["a"], { x: 1, y: 2 }), markOf(["a"], { y: 2, x: 1 }));
  assert.notEqual(markOf(["a", "b"], {}), markOf(["b", "a"], {}));
});

test("numbers are short where there is little room", () => {
  assert.deepEqual([0, 999, 1000, 1240, 9949, 9950, 48200].map(short), ["0", "999", "1k", "1.2k", "9.9k", "10k", "48k"]);
});

const WHOLE = { key: "K", tokens: 1240, notes: 3, cut: [], left_out: [], left_out_count: 0, missing: [], problem: "" };

test("a chip says what is sent, and warns of what is not", () => {
  assert.deepEqual(stateOf(WHOLE), { size: "1.2k", words: "3 notes, 1,240 tokens.", warns: false });
  const lacking = stateOf({ ...WHOLE, left_out: ["b.md"], left_out_count: 1, missing: ["gone.md"] });
  assert.equal(lacking.size, "1.2k · 1 left out · 1 missing");
  assert.match(lacking.words, /Left out, there is no room: b\.md\. Not found: gone\.md\./);
  assert.equal(lacking.warns, true);
  assert.deepEqual(stateOf({ ...WHOLE, problem: "This context was deleted." }), { size: "not sent", words: "This context was deleted.", warns: true });
});
