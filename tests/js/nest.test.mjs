import assert from "node:assert/strict";
import { test } from "node:test";
import { nest, nestIn, SMALLEST } from "../../static/cloud/nest.js";

const WIDE = { width: 1200, height: 640 };
const NARROW = { width: 340, height: 480 };

/** Numbers in [0, 1), the same on each run. */
function randoms(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomThemes(random) {
  return Array.from({ length: 1 + Math.floor(random() * 14) }, (_, i) => ({
    id: `theme${i}`,
    least: 30 + random() * 60,
    cap: 26 * (i % 2),
    bubbles: Array.from({ length: 1 + Math.floor(random() * 20) }, (_, j) => ({ id: `${i}-${j}`, count: 1 + Math.floor(200 * random() ** 4) })),
  }));
}

const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) - a.r - b.r;

function assertSound({ discs, bubbles, height }, room) {
  for (const [i, disc] of discs.entries()) {
    assert.ok(disc.x - disc.r >= 0 && disc.x + disc.r <= room.width && disc.y - disc.r >= 0 && disc.y + disc.r <= height, "outside the room");
    for (const other of discs.slice(0, i)) assert.ok(apart(disc, other) > 0, "two themes overlap");
    for (const [j, bubble] of bubbles[i].entries()) {
      assert.ok(Math.hypot(bubble.x, bubble.y) + bubble.r <= disc.r + 0.5, "a bubble leaves its theme");
      assert.ok(2 * bubble.r >= 24, "too small to be hit");
      for (const other of bubbles[i].slice(0, j)) assert.ok(apart(bubble, other) > 0, "two bubbles overlap");
    }
  }
}

test("bubbles stay in their themes, themes in the room, and nothing overlaps", () => {
  const random = randoms(7);
  for (let i = 0; i < 60; i++) {
    const themes = randomThemes(random);
    for (const room of [WIDE, NARROW]) assertSound(nest(themes, room), room);
  }
});

test("where there is room for it, the smallest bubble is large enough for a label", () => {
  const themes = [40, 30, 8, 2, 1].map((count, i) => ({ id: `t${i}`, least: 0, cap: 0, bubbles: [{ id: `b${i}`, count }] }));
  const least = (room) => Math.min(...nest(themes, room).bubbles.flat().map(({ r }) => r));
  assert.ok(least(NARROW) >= 20, String(least(NARROW)));
  assert.ok(least({ width: 340, height: 120 }) < 20);
});

test("a name has its height above the bubbles, and takes none where it has room already", () => {
  const theme = (id, count) => ({ id, least: 30, cap: 44, bubbles: Array.from({ length: count }, (_, j) => ({ id: `${id}${j}`, count: 20 })) });
  const { discs, bubbles } = nest([theme("two", 2), theme("many", 12)], WIDE);
  const above = bubbles.map((own, i) => discs[i].r + Math.min(...own.map(({ y, r }) => y - r)));
  assert.ok(above.every((height) => height >= 0.9 * 44), String(above));
  const bare = nest([{ ...theme("two", 2), cap: 0 }], WIDE);
  assert.equal(nest([theme("two", 2)], WIDE).discs[0].r, bare.discs[0].r);
});

test("three hundred topics fit into a window without scrolling, or nearly", () => {
  const random = randoms(3);
  const themes = Array.from({ length: 14 }, (_, i) => ({
    id: `theme${i}`,
    least: 45,
    cap: 26,
    bubbles: Array.from({ length: 20 }, (_, j) => ({ id: `${i}-${j}`, count: 1 + Math.floor(200 * random() ** 4) })),
  }));
  assert.ok(nest(themes, { width: 1360, height: 640 }).height <= 1.1 * 640);
});

test("areas are proportional to counts while none is at its limit", () => {
  const { bubbles } = nest([{ id: "a", least: 30, cap: 0, bubbles: [{ id: "x", count: 40 }, { id: "y", count: 20 }, { id: "z", count: 10 }] }, { id: "b", least: 30, cap: 0, bubbles: [{ id: "w", count: 90 }, { id: "v", count: 90 }] }], WIDE);
  const [x, y, z] = bubbles[0].map(({ r }) => r);
  assert.ok(Math.abs((x / y) ** 2 - 2) < 0.01 && Math.abs((y / z) ** 2 - 2) < 0.01);
});

test("what is laid out again stays where it is", () => {
  const themes = randomThemes(randoms(11));
  const first = nest(themes, WIDE);
  const second = nest(themes, WIDE, first.places);
  for (const [i, disc] of first.discs.entries()) assert.ok(Math.hypot(disc.x - second.discs[i].x, disc.y - second.discs[i].y) < 0.5);
  for (const [i, own] of first.bubbles.entries()) {
    for (const [j, { x, y }] of own.entries()) assert.ok(Math.hypot(x - second.bubbles[i][j].x, y - second.bubbles[i][j].y) < 0.5);
  }
});

test("a small topic that comes moves no other of its theme by more than .6 of its diameter", () => {
  const random = randoms(5);
  for (let i = 0; i < 60; i++) {
    const themes = randomThemes(random);
    const before = nest(themes, WIDE);
    const grown = themes.map((theme, t) => (t ? theme : { ...theme, bubbles: [...theme.bubbles, { id: "new", count: 1 }] }));
    const after = nest(grown, WIDE, before.places);
    assertSound(after, WIDE);
    for (const [j, { x, y, r }] of before.bubbles[0].entries()) {
      const now = after.bubbles[0][j];
      const [dx, dy] = [now.x + after.discs[0].x - x - before.discs[0].x, now.y + after.discs[0].y - y - before.discs[0].y];
      assert.ok(Math.hypot(dx, dy) <= 0.6 * 2 * Math.max(r, SMALLEST), `${i}: ${Math.hypot(dx, dy) / (2 * r)}`);
    }
  }
});

test("a narrower room keeps the order of the themes from left to right", () => {
  const themes = randomThemes(randoms(23));
  const before = nest(themes, WIDE);
  const after = nest(themes, { ...WIDE, width: 830 }, before.places);
  assertSound(after, { width: 830 });
  const order = (discs) => {
    const far = discs.flatMap((a, i) => discs.map((b, j) => [i, j, a.x - b.x])).filter(([, , dx]) => dx > 400);
    return far.map(([i, j]) => [i, j]);
  };
  for (const [i, j] of order(before.discs)) assert.ok(after.discs[i].x > after.discs[j].x);
});

test("after the window has become lower, all is in sight again, and stays so", () => {
  const random = randoms(17);
  for (let i = 0; i < 40; i++) {
    const themes = randomThemes(random).slice(0, 6);
    const high = nest(themes, WIDE);
    for (const height of [600, 540, 480]) {
      const room = { ...WIDE, height };
      const fits = (made) => made.height <= height;
      if (!fits(nest(themes, room))) continue;
      const low = nest(themes, room, high.places);
      assertSound(low, room);
      assert.ok(fits(low), `${i}: ${low.height} in ${height}`);
      assert.ok(fits(nest(themes, room, low.places)), `${i}: the second time`);
    }
  }
});

test("nothing makes nothing", () => {
  assert.deepEqual(nest([], WIDE).discs, []);
});

test("places that were stored come back, and what is no such text is not taken", () => {
  const { places } = nest(randomThemes(randoms(2)), WIDE);
  assert.deepEqual(nestIn(JSON.stringify(places)), places);
  for (const text of ["", "null", "{}", "[1]", JSON.stringify({ ...places, scale: 0 }), JSON.stringify({ ...places, at: { a: ["1", 2] } })]) assert.equal(nestIn(text), null);
});
