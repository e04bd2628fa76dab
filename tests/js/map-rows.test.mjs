import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsOf } from "../../static/messages/reading/map-rows.js";

const map = {
  message_ids: ["a", "b", "c", "d", "e", "f"],
  topics: [
    { id: "1", label: "Cats", places: [0, 1, 2] },
    { id: "2", label: "Boats", places: [4] },
  ],
};

test("each message has a row while there is room", () => {
  const rows = rowsOf(map, 10, null, new Map());
  assert.deepEqual(rows.map((row) => row.topic), ["Cats", "Cats", "Cats", "", "Boats", ""]);
  assert.ok(rows.every((row) => row.isSent && row.count === 1));
});

test("where there is little room, a row stands for several messages and leads to what is sent", () => {
  const rows = rowsOf(map, 3, new Set(["d", "e"]), new Map([["d", "Boats"]]));
  assert.deepEqual(rows, [
    { first: 0, count: 2, topic: "Cats", isSent: false },
    { first: 3, count: 2, topic: "Boats", isSent: true },
    { first: 4, count: 2, topic: "Boats", isSent: true },
  ]);
});

test("an empty chat has no rows", () => {
  assert.deepEqual(rowsOf({ message_ids: [], topics: [] }, 0, null, new Map()), []);
});
