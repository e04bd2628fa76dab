import assert from "node:assert/strict";
import { test } from "node:test";
import { cutAt, LONGEST_PART, withoutBegunTable } from "../../static/messages/answers/live-blocks.js";

/** @param {string} text @param {number} [from] */
function cut(text, from = 0) {
  const { settled, code } = cutAt(text, from);
  return [text.slice(from, settled), text.slice(settled), code];
}

for (const [name, text, settled, rest, code] of /** @type {const} */ ([
  ["one paragraph may go on", "Half a sen", "", "Half a sen", ""],
  ["a blank line alone ends nothing", "One.\n\n", "", "One.\n\n", ""],
  ["a new paragraph ends the one before", "One.\n\nTw", "One.\n\n", "Tw", ""],
  ["a list may go on after a blank line", "1. a\n\n2", "", "1. a\n\n2", ""],
  ["and so may what is indented", "* a\n\n  b", "", "* a\n\n  b", ""],
  ["a fence ends the paragraph before", "Look:\n```py\nx = 1\n\ny", "Look:\n", "```py\nx = 1\n\ny", "```py"],
  ["a fence that is not written yet is none", "Look:\n``", "", "Look:\n``", ""],
  ["its opening line may go on", "```py", "", "```py", ""],
  ["a closed fence is complete", "```\na\n```\nb", "```\na\n```\n", "b", ""],
  ["a shorter fence closes nothing", "````\na\n```\n\nb", "", "````\na\n```\n\nb", "````"],
  ["other marks close nothing", "~~~\n```\n\nb", "", "~~~\n```\n\nb", "~~~"],
  ["an opening line with a language closes nothing", "```\na\n```js\nb", "", "```\na\n```js\nb", "```"],
])) {
  test(name, () => assert.deepEqual(cut(text), [settled, rest, code]));
}

test("a long list is cut between its items", () => {
  const text = Array.from({ length: 400 }, (_, n) => `${n}. item number ${n}\n\n`).join("");
  const [settled, rest] = cut(text);
  assert.ok(settled.length > 4000);
  assert.match(rest, /^\d+\. item/);
});

test("a text without any break is cut where it has to be", () => {
  assert.equal(cut("x".repeat(50_000))[0].length, LONGEST_PART);
  assert.ok(cut("a line\n".repeat(9_000))[0].endsWith("line\n"));
});

test("whatever comes piece by piece: nothing is lost, no part is too long, all of it gets settled", () => {
  const text = "# Title\n\nSome words.\n\n* a\n* b\n\n```js\nlet a;\n\nlet b;\n```\n\n| a |\n|---|\n| 1 |\n\nEnd.\n\n".repeat(900);
  let settled = 0;
  let parts = "";
  for (let length = 0; settled < text.length - 200; length = Math.min(length + 577, text.length)) {
    const next = cutAt(text.slice(0, length), settled).settled;
    assert.ok(next >= settled && next - settled <= LONGEST_PART);
    parts += text.slice(settled, next);
    settled = next;
  }
  assert.equal(parts, text.slice(0, settled));
});

for (const [name, text, shown] of /** @type {const} */ ([
  ["a head alone", "Look:\n\n| a | b", "Look:\n"],
  ["a head and half of the line below it", "Look:\n\n| a | b |\n|--", "Look:\n"],
  ["that line, not ended yet", "| a |\n|---|", ""],
  ["a table that has begun", "| a |\n|---|\n", "| a |\n|---|\n"],
  ["one with half a row", "| a |\n|---|\n| x", "| a |\n|---|\n| x"],
  ["pipes that are no table", "| a\nwords", "| a\nwords"],
  ["no pipes", "Look:\n\nwords", "Look:\n\nwords"],
])) {
  test(`of a table no pipes are shown: ${name}`, () => assert.equal(withoutBegunTable(text), shown));
}
