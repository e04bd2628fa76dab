// @ts-check
/** Says that an answer is there while its page is in the background: in the tab's title, and as a notification. */

import { recall, remember } from "../../lib/memory.js";
import { toast } from "../../lib/toasts.js";

const WANTED = "notify";
const ANSWERING = "(answering) ";
const DONE = "● ";

/** Marks the title of a tab. @param {string} mark */
function mark(mark) {
  document.title = mark + document.title.replace(ANSWERING, "").replace(DONE, "");
}

/** Shows in the tab that an answer is awaited or being written, or no longer. @param {boolean} isAnswering */
export function markAnswering(isAnswering) {
  if (isAnswering) mark(ANSWERING);
  else if (document.title.startsWith(ANSWERING)) mark("");
}

/** Says in the background how an answer ended. @param {string} words */
export function tellOfEnd(words) {
  if (!document.hidden) return;
  mark(DONE);
  if (!isWanted()) return;
  const title = document.getElementById("chat-title")?.textContent ?? "";
  const notice = new Notification(title, { body: words, tag: location.pathname });
  notice.onclick = () => {
    focus();
    notice.close();
  };
}

/** Lets the chat's menu ask the browser for notifications. */
export function startNoticesOfEnd() {
  const button = document.querySelector("[data-notify]");
  const show = () => button?.setAttribute("aria-pressed", String(isWanted()));
  document.addEventListener("visibilitychange", () => document.hidden || mark(document.title.startsWith(ANSWERING) ? ANSWERING : ""));
  button?.addEventListener("click", async () => {
    const wants = !isWanted();
    remember("localStorage", WANTED, wants ? "yes" : "");
    if (wants && (await globalThis.Notification?.requestPermission()) !== "granted") {
      toast("The browser doesn’t allow notifications from this page; the tab’s title tells you. You can allow them in its settings.");
    }
    show();
  });
  show();
}

function isWanted() {
  return Boolean(recall("localStorage", WANTED)) && globalThis.Notification?.permission === "granted";
}
