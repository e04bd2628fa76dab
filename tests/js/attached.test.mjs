import assert from "node:assert/strict";
import { test } from "node:test";

import { addressIn, asParams, asText, cutInWords, fromText, holdReason, refusal, sizeInWords } from "../../static/composer/attached.js";
import { commandIn, commandsFrom } from "../../static/composer/commands.js";

const file = (/** @type {object} */ more) => ({ id: 1, kind: "file", name: "a.txt", size: 3, state: "ready", told: "", stored: { storage_key: "k1" }, ...more });

test("sizes are told as people read them", () => {
  const told = [0, 1, 999, 1000, 2_440, 9_960, 999_499, 999_500, 26_214_401].map(sizeInWords);
  assert.deepEqual(told, ["0 bytes", "1 byte", "999 bytes", "1 kB", "2.4 kB", "10 kB", "999 kB", "1 MB", "26 MB"]);
});

test("what can't be attached is refused before it is sent, up to the very byte", () => {
  assert.equal(refusal({ size: 2 ** 20 }, 2 ** 20), "");
  assert.match(refusal({ size: 2 ** 20 + 1 }, 2 ** 20), /Too large.*1 MiB/);
  assert.match(refusal({ size: 0 }, 9), /Empty/);
  assert.match(refusal({ size: 4096, isFolder: true }, 9), /folder/);
});

test("a chip says what goes of a long text", () => {
  const cut = { storage_key: "k", shown: 100, total: 60_000, unit: /** @type {const} */ ("lines"), tokens: 9 };
  assert.equal(cutInWords(cut, true), "First 100 of 60,000 lines · the model can ask for more");
  assert.equal(cutInWords(cut, false), "First 100 of 60,000 lines");
  assert.match(cutInWords({ ...cut, unit: "characters" }, true), /characters · the rest has no room$/);
});

test("a text is an address only if it is nothing else and nothing that runs", () => {
  assert.equal(addressIn("  HTTPS://example.org/a?b#c\n"), "HTTPS://example.org/a?b#c");
  for (const text of ["", "see https://example.org", "javascript:alert(1)", "data:text/html,x", "http://", `https://example.org/${"x".repeat(2000)}`]) {
    assert.equal(addressIn(text), "", text);
  }
});

test("a message waits for what is on its way and for what failed", () => {
  assert.equal(holdReason([file({})]), "");
  assert.match(holdReason([file({}), file({ state: "sending" })]), /1 file…/);
  assert.match(holdReason([file({ state: "failed" }), file({ state: "sending" })]), /“a.txt” could not/);
  assert.match(holdReason([file({ state: "failed" }), file({ state: "refused" })]), /^2 files could not/);
});

test("a message names its files and links, and nothing when it has none", () => {
  const link = file({ kind: "link", stored: { url: "https://example.org" } });
  assert.deepEqual(asParams([]), {});
  assert.deepEqual(asParams([file({}), link]), { files: [{ storage_key: "k1" }], links: [{ url: "https://example.org" }] });
});

test("what the server has is kept for a reload, and nothing else", () => {
  const kept = fromText(asText([file({}), file({ state: "failed", stored: null })]));
  assert.deepEqual(kept, [{ kind: "file", name: "a.txt", size: 3, told: "", stored: { storage_key: "k1" } }]);
  for (const text of ["", "null", "{", "[1]", '[{"name":"a","stored":null}]']) assert.deepEqual(fromText(text), []);
});

test("a slash and a word is a command, or is explained", () => {
  assert.deepEqual(commandIn("/Compact \n"), { command: "compact" });
  assert.deepEqual(commandIn("/clear"), { command: "clear" });
  assert.deepEqual(commandIn("/compact Rye Bread "), { command: "compact", words: "Rye Bread" });
  assert.deepEqual(commandIn("/recall the hotel in Rome"), { command: "recall", words: "the hotel in Rome" });
  for (const text of ["/compactor", "/frobnicate now", "/clear all", "/größe", "/a_b-1"]) {
    assert.ok("problem" in (commandIn(text) ?? {}), text);
  }
  for (const text of ["compact", "/", "", "//", "//clear", "/usr/bin", "/usr/bin please", " /clear", "/a.b", "1/2"]) {
    assert.equal(commandIn(text), undefined, text);
  }
});

test("the commands that begin with what was typed are offered", () => {
  assert.deepEqual(commandsFrom("/"), ["compact", "recall", "clear"]);
  assert.deepEqual(commandsFrom("/CL"), ["clear"]);
  assert.deepEqual([...commandsFrom("cl"), ...commandsFrom("/etc"), ...commandsFrom(" /c")], []);
});
