// @ts-check
/** Says that the connection is lost, and that it is being tried again. */

import { Wire } from "../wire.js";

const PATIENCE_MS = 700;
const MANY_ATTEMPTS = 4;

/** The page's one socket, with a bar that appears when it is lost. Call `connect()` when ready. */
export function pageWire() {
  const address = new URL("/ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const wire = new Wire(address.href);
  const bar = /** @type {HTMLElement} */ (document.querySelector(".connection"));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  wire.onStatus((status, attempt) => {
    clearTimeout(waiting);
    document.documentElement.dataset.wire = status;
    if (status === "open") bar.hidden = true;
    else waiting = setTimeout(() => show(bar, attempt), attempt > 1 ? 0 : PATIENCE_MS);
  });
  const now = () => document.visibilityState === "visible" && wire.connect();
  addEventListener("online", now);
  document.addEventListener("visibilitychange", now);
  return wire;
}

/** @param {HTMLElement} bar @param {number} attempt */
function show(bar, attempt) {
  bar.textContent =
    attempt < MANY_ATTEMPTS
      ? "Connection lost – reconnecting…"
      : "Connection lost – still trying. If the server runs, reload this page.";
  bar.hidden = false;
}
