import assert from "node:assert/strict";
import { test } from "node:test";
import { hasGap, NO_PIECES, withPiece } from "../../static/messages/answers/pieces.js";

/** @param {[number, string][]} pieces */
const joined = (pieces) => pieces.reduce((all, [offset, text]) => withPiece(all, offset, text), NO_PIECES);

for (const [name, pieces, text] of /** @type {const} */ ([
  ["in order", [[0, "ab"], [2, "cd"]], "abcd"],
  ["one twice", [[0, "ab"], [0, "ab"], [2, "cd"]], "abcd"],
  ["all again after a reconnect", [[0, "ab"], [2, "cd"], [0, "abcd"], [4, "e"]], "abcde"],
  ["overlapping", [[0, "abc"], [1, "bcd"]], "abcd"],
  ["out of order", [[2, "cd"], [0, "ab"]], "abcd"],
  ["offsets that count an emoji once", [[0, "👍"], [1, "x"], [2, "👩‍👧"], [5, "y"]], "👍x👩‍👧y"],
  ["Chinese", [[0, "你好"], [2, "世界"]], "你好世界"],
  ["empty pieces", [[0, ""], [0, "a"], [1, ""]], "a"],
])) {
  test(`pieces are joined: ${name}`, () => {
    assert.equal(joined([...pieces]).text, text);
    assert.equal(hasGap(joined([...pieces])), false);
  });
}

test("what comes after a gap waits until the gap is filled", () => {
  const gapped = joined([[0, "ab"], [4, "ef"]]);
  assert.equal(gapped.text, "ab");
  assert.equal(hasGap(gapped), true);
  const whole = withPiece(gapped, 0, "abcd");
  assert.equal(whole.text, "abcdef");
  assert.equal(hasGap(whole), false);
});

test("any cut, order and repetition of an answer gives the answer", () => {
  let state = 5;
  const random = (/** @type {number} */ below) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % below;
  const characters = [..."The 👍 quick 棕色 fox 👩‍👧 jumps"];
  for (let i = 0; i < 300; i++) {
    /** @type {[number, string][]} */
    const pieces = [];
    for (let at = 0; at < characters.length; ) {
      const size = 1 + random(5);
      pieces.push([at, characters.slice(at, at + size).join("")]);
      at += size;
    }
    const shuffled = [...pieces, ...pieces.filter(() => random(2))].sort(() => random(3) - 1);
    assert.equal(joined(shuffled).text, characters.join(""));
  }
});
