// @ts-check
/** Tells that the server can't be reached, in one place, with a way to try again now. */

import { Wire } from "../wire.js";

const PATIENCE_MS = 700;

/** The page's one socket, with a notice that appears when it is lost. Call `connect()` when ready. */
export function pageWire() {
  const address = new URL("/ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const wire = new Wire(address.href);
  const notice = /** @type {HTMLElement} */ (document.querySelector(".connection"));
  const words = document.createElement("span");
  const retry = document.createElement("button");
  retry.type = "button";
  retry.textContent = "Retry now";
  retry.addEventListener("click", () => wire.connect());
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const show = () => {
    notice.replaceChildren(words, retry);
    notice.hidden = false;
    // Filled in after the region exists: screen readers skip text that appears with its region.
    words.textContent = "Can’t reach the server. Retrying…";
  };
  wire.onStatus((status, attempt) => {
    clearTimeout(waiting);
    document.documentElement.dataset.wire = status;
    if (status === "open") notice.hidden = true;
    else waiting = setTimeout(show, attempt > 1 ? 0 : PATIENCE_MS);
  });
  const now = () => document.visibilityState === "visible" && wire.connect();
  addEventListener("online", now);
  document.addEventListener("visibilitychange", now);
  return wire;
}
