import assert from "node:assert/strict";
import { test } from "node:test";
import { keyHeaders, keyProtocols } from "../../static/key.js";

/** @param {Record<string, string>} kept */
function storing(kept) {
  Object.defineProperty(globalThis, "localStorage", {
    configurable: true,
    value: { getItem: (/** @type {string} */ name) => kept[name] ?? null },
  });
}

test("requests of scripts carry the key that the browser keeps", () => {
  storing({ "smart_context.key": "abc" });
  assert.deepEqual(keyHeaders(), { "X-Smart-Context-Key": "abc" });
  assert.deepEqual(keyProtocols(), ["smart-context", "smart-context.key.abc"]);
});

test("without a key they say so, and the server tells what to do", () => {
  storing({});
  assert.deepEqual(keyHeaders(), { "X-Smart-Context-Key": "" });
  assert.deepEqual(keyProtocols(), ["smart-context"]);
});
