// @ts-check
/**
 * The key that the server gave this browser. It lies in storage that only pages of this host *and
 * port* can read, unlike the cookie; requests that scripts make carry it.
 */

import { recall } from "./lib/memory.js";

const STORED = "smart_context.key";
const PROTOCOL = "smart-context";

/** Headers for `fetch` and the like. @returns {Record<string, string>} */
export function keyHeaders() {
  return { "X-Smart-Context-Key": recall("localStorage", STORED) };
}

/** Subprotocols for a `WebSocket`, which can't send headers. @returns {string[]} */
export function keyProtocols() {
  const key = recall("localStorage", STORED);
  return key ? [PROTOCOL, `${PROTOCOL}.key.${key}`] : [PROTOCOL];
}
