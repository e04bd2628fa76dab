import assert from "node:assert/strict";
import { test } from "node:test";
import { cloud, pack, radii } from "../../static/cloud/pack.js";

/** Numbers in [0, 1), the same on each run. */
function randoms(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomCloud(random) {
  const counts = Array.from({ length: 1 + Math.floor(random() * 12) }, () => 1 + Math.floor(random() ** 3 * 60));
  return { counts, width: 220 + Math.floor(random() * 400) };
}

test("no two of 2,000 random clouds' circles overlap, and none leaves the width", () => {
  const random = randoms(7);
  for (let i = 0; i < 2000; i++) {
    const { counts, width } = randomCloud(random);
    const sizes = radii(counts, width);
    const places = pack(sizes, 6, width);
    assert.equal(places.length, counts.length);
    for (const [a, p] of places.entries()) {
      assert.ok(Math.abs(p.x) + sizes[a] <= width / 2 + 0.01, `outside: ${JSON.stringify({ counts, width })}`);
      for (const [b, q] of places.slice(0, a).entries()) {
        const free = Math.hypot(p.x - q.x, p.y - q.y) - sizes[a] - sizes[b];
        assert.ok(free >= 6 - 0.01, `overlap of ${free}: ${JSON.stringify({ counts, width })}`);
      }
    }
  }
});

test("a cloud is compact: it takes at most three times the area of its circles", () => {
  const random = randoms(11);
  for (let i = 0; i < 300; i++) {
    const counts = Array.from({ length: 3 + Math.floor(random() * 6) }, () => 1 + Math.floor(random() * 20));
    const sizes = radii(counts, 320);
    const places = pack(sizes, 6, 320);
    const top = Math.min(...places.map(({ y }, j) => y - sizes[j]));
    const bottom = Math.max(...places.map(({ y }, j) => y + sizes[j]));
    const area = sizes.reduce((sum, r) => sum + Math.PI * r * r, 0);
    assert.ok(320 * (bottom - top) <= 3 * area, `${counts}: ${(320 * (bottom - top)) / area}`);
  }
});

test("many equal topics shrink until the cloud is hardly taller than wide", () => {
  for (const counts of [[10, 10, 10, 8, 8, 8, 2], [5, 5, 5, 5, 5, 5, 5, 5], [9, 1, 1, 1]]) {
    const { sizes, places } = cloud(counts, 320, 6);
    const top = Math.min(...places.map(({ y }, j) => y - sizes[j]));
    const bottom = Math.max(...places.map(({ y }, j) => y + sizes[j]));
    assert.ok(bottom - top <= 1.3 * 320, `${counts}: ${bottom - top}`);
  }
});

test("the same circles are placed the same", () => {
  const sizes = radii([9, 4, 4, 2, 1], 320);
  assert.deepEqual(pack(sizes, 6, 320), pack(sizes, 6, 320));
});

test("areas are proportional to counts while the counts are not too far apart", () => {
  const [four, two, one] = radii([4, 2, 1], 320);
  assert.ok(Math.abs((four / two) ** 2 - 2) < 1e-9);
  assert.ok(Math.abs((four / one) ** 2 - 4) < 1e-9);
});

test("a very small topic stays large enough to be read and touched", () => {
  const sizes = radii([500, 1], 320);
  assert.equal(sizes[1], 34);
  assert.ok(sizes[0] <= 92);
});

test("a narrow cloud's circles fit into it", () => {
  assert.ok(radii([5], 100)[0] <= 50);
  assert.ok(radii([5, 5], 50).every((r) => r <= 25));
});

test("no topics make no circles", () => {
  assert.deepEqual(radii([], 320), []);
  assert.deepEqual(pack([], 6, 320), []);
});
