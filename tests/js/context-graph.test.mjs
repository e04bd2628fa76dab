import assert from "node:assert/strict";
import { test } from "node:test";
import { ringsOf } from "../../static/contexts/context-graph.js";

const items = (/** @type {string[]} */ ...keys) => keys.map((key) => ({ key }));

test("each step has a ring of its own, and every dot is in the picture", () => {
  const { dots, size } = ringsOf([
    { depth: 0, items: items("a") },
    { depth: 1, items: items("b", "c", "d") },
    { depth: 2, items: items("e", "f") },
  ]);
  const away = dots.map(({ x, y }) => Math.round(Math.hypot(x - size / 2, y - size / 2)));
  assert.equal(away[0], 0);
  assert.equal(new Set(away.slice(1, 4)).size, 1);
  assert.ok(away[4] > away[1]);
  assert.ok(dots.every(({ x, y }) => x > 0 && y > 0 && x < size && y < size));
  assert.equal(new Set(dots.map(({ x, y }) => `${x} ${y}`)).size, 6);
});

test("nothing that is chosen gives nothing to draw, and very much is cut", () => {
  assert.deepEqual(ringsOf([]).dots, []);
  const many = Array.from({ length: 500 }, (_, i) => String(i));
  assert.equal(ringsOf([{ depth: 0, items: items(...many) }]).dots.length, 60);
});
