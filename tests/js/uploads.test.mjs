import assert from "node:assert/strict";
import { test } from "node:test";

import { inTurn } from "../../static/composer/uploads.js";

test("only a few run at once, in their order, and one that fails holds up no other", async () => {
  const turn = inTurn(2);
  /** @type {string[]} */
  const told = [];
  /** @type {Record<string, { resolve: (v?: unknown) => void, reject: (e: Error) => void }>} */
  const gates = {};
  const runs = ["a", "b", "c", "d"].map((name) =>
    turn(async () => {
      told.push(name);
      await new Promise((resolve, reject) => { gates[name] = { resolve, reject }; });
    }).catch((error) => told.push(error.message)),
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  await settle();
  assert.deepEqual(told, ["a", "b"]);
  gates.b.reject(new Error("b failed"));
  await settle();
  assert.deepEqual([...told].sort(), ["a", "b", "b failed", "c"]);
  gates.a.resolve();
  await settle();
  assert.equal(told.at(-1), "d");
  gates.c.resolve();
  gates.d.resolve();
  await Promise.all(runs);
});
