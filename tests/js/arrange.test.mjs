import assert from "node:assert/strict";
import { test } from "node:test";
import { arrange, placesIn } from "../../static/cloud/arrange.js";

const WIDTH = 320;
const ROOM = { width: WIDTH, height: WIDTH };
const LOW = { width: WIDTH, height: 224 };

/** Numbers in [0, 1), the same on each run. */
function randoms(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomTopics(random, least = 1) {
  const length = least + Math.floor(random() * 8);
  return Array.from({ length }, (_, i) => ({ id: `t${i}`, count: 1 + Math.floor(random() ** 2 * 40), least: 30 + Math.floor(random() * 10) }));
}

function assertApart(placed) {
  for (const [i, a] of placed.entries()) {
    assert.ok(a.x - a.r >= -0.2 && a.x + a.r <= WIDTH + 0.2 && a.y - a.r >= -0.2, `outside: ${JSON.stringify(a)}`);
    for (const b of placed.slice(0, i)) {
      assert.ok(Math.hypot(a.x - b.x, a.y - b.y) - a.r - b.r >= 5, `overlap: ${JSON.stringify(placed)}`);
    }
  }
}

function furthest(before, after, length) {
  const moves = after.slice(0, length).map((now, i) => Math.hypot(now.x - before[i].x, now.y - before[i].y) / (2 * before[i].r));
  return Math.max(...moves);
}

test("a topic that comes moves no other by more than .6 of its diameter", () => {
  const random = randoms(3);
  for (let i = 0; i < 400; i++) {
    const topics = randomTopics(random);
    const before = arrange(topics, ROOM, null);
    const newcomer = { id: "new", count: 1 + Math.floor(random() * 20), least: 34 };
    const after = arrange([...topics, newcomer], ROOM, before.places);
    assertApart(after.placed);
    const moved = furthest(before.placed, after.placed, topics.length);
    assert.ok(moved <= 0.6, `${moved}: ${JSON.stringify([topics, newcomer])}`);
  }
});

test("a topic that gets another name or a little larger moves no other by more than .3 of its diameter", () => {
  const random = randoms(5);
  for (let i = 0; i < 400; i++) {
    const topics = randomTopics(random, 2);
    const before = arrange(topics, ROOM, null);
    const after = arrange(topics.map((topic, j) => (j ? topic : { ...topic, count: topic.count + 1 })), ROOM, before.places);
    assertApart(after.placed);
    assert.ok(furthest(before.placed, after.placed, topics.length) <= 0.3);
    assert.deepEqual(arrange(topics, ROOM, before.places).placed.map(({ r }) => r), before.placed.map(({ r }) => r));
  }
});

test("what is arranged is not arranged again", () => {
  const random = randoms(7);
  for (let i = 0; i < 100; i++) {
    const topics = randomTopics(random);
    const once = arrange(topics, ROOM, null);
    const twice = arrange(topics, ROOM, once.places);
    assert.ok(furthest(once.placed, twice.placed, topics.length) < 0.01);
  }
});

test("a topic that goes leaves the others near where they were", () => {
  const random = randoms(11);
  for (let i = 0; i < 200; i++) {
    const topics = randomTopics(random, 3);
    const before = arrange(topics, ROOM, null);
    const after = arrange(topics.slice(0, -1), ROOM, before.places);
    assertApart(after.placed);
    assert.ok(furthest(before.placed, after.placed, topics.length - 1) <= 0.6);
  }
});

test("nothing that is there moves while it is held", () => {
  const random = randoms(13);
  for (let i = 0; i < 200; i++) {
    const topics = randomTopics(random, 2);
    const before = arrange(topics, ROOM, null);
    const after = arrange([...topics.slice(1), { id: "new", count: 3, least: 30 }], ROOM, before.places, true);
    for (const [j, { x, y, r }] of after.placed.slice(0, -1).entries()) {
      const was = before.placed[j + 1];
      assert.ok(Math.hypot(x - was.x, y - was.y) <= 0.2 && Math.abs(r - was.r) < 0.01);
    }
    assertApart(after.placed);
  }
});

test("another width keeps the picture", () => {
  const topics = randomTopics(randoms(17), 5);
  const before = arrange(topics, ROOM, null);
  const after = arrange(topics, { ...ROOM, width: 300 }, before.places);
  assert.ok(after.placed.every(({ x, r }) => x - r >= -0.2 && x + r <= 300.2));
});

function height(placed) {
  return Math.max(...placed.map(({ y, r }) => y + r));
}

test("a low room has a low cloud, made anew where it was a high one", () => {
  const random = randoms(23);
  let lower = 0;
  for (let i = 0; i < 100; i++) {
    const topics = randomTopics(random, 2).slice(0, 6);
    const low = arrange(topics, LOW, null);
    assertApart(low.placed);
    const high = arrange(topics, ROOM, null);
    const [now, before] = [height(low.placed), height(high.placed)];
    assert.ok(now <= before);
    lower += Number(now <= LOW.height || now < 0.9 * before);
    assert.deepEqual(arrange(topics, LOW, high.places), low);
    assert.deepEqual(arrange(topics, ROOM, low.places), high);
    assert.deepEqual(arrange(topics, LOW, arrange(topics, { ...LOW, height: 260 }, null).places), low);
  }
  assert.ok(lower >= 90, `only ${lower} of 100 are low`);
});

test("only places that make sense are remembered", () => {
  const places = { width: 320, height: 300, scale: 20, at: { t1: [10, 20] } };
  assert.deepEqual(placesIn(JSON.stringify(places)), places);
  assert.equal(placesIn('{"width":320,"scale":20,"at":{}}')?.height, 320);
  for (const text of ["", "null", "{}", "[]", '{"width":0,"scale":1,"at":{}}', '{"width":1,"scale":1,"at":{"a":["x",1]}}']) {
    assert.equal(placesIn(text), null);
  }
});

test("a cloud that is laid out again, as after a reload, stays as it is", () => {
  const random = randoms(11);
  for (let i = 0; i < 400; i++) {
    const topics = randomTopics(random);
    const newcomer = { id: "new", count: 1 + Math.floor(random() * 20), least: 34 };
    const before = arrange([...topics, newcomer], ROOM, arrange(topics, ROOM, null).places);
    const again = arrange([newcomer, ...topics], ROOM, placesIn(JSON.stringify(before.places)));
    for (const [id, [x, y]] of Object.entries(before.places.at)) {
      const [nowX, nowY] = again.places.at[id];
      assert.ok(Math.hypot(nowX - x, nowY - y) < 1, `${id} of ${JSON.stringify(topics)}`);
    }
  }
});

test("a cloud that grows topic by topic stays about as high as its room, and two lie side by side in its middle", () => {
  for (const counts of [[4, 4, 4, 4, 4, 4, 4], [4, 2, 2, 6, 2, 4, 2], [2, 9, 4, 4, 3, 6, 2]]) {
    let places = null;
    for (let length = 1; length <= counts.length; length++) {
      const topics = counts.slice(0, length).map((count, i) => ({ id: `t${i}`, count, least: 30 }));
      const made = arrange(topics, ROOM, places);
      assertApart(made.placed);
      const low = Math.max(...made.placed.map(({ y, r }) => y + r));
      assert.ok(low <= 1.15 * WIDTH, `${length} of ${counts}: ${low}`);
      const sides = [...made.placed.map(({ x, r }) => x - r), ...made.placed.map(({ x, r }) => x + r)];
      if (length === 2) assert.ok(Math.abs(Math.min(...sides) + Math.max(...sides) - WIDTH) <= 2, `${sides}`);
      places = made.places;
    }
  }
});
