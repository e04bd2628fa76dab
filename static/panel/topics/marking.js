// @ts-check
/** Pins and hides by key and by range, and takes choices back. */

import { reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

const VERBS = /** @type {const} */ ({ p: "pin", h: "hide" });

/** @typedef {{ list: HTMLElement | null, root: HTMLElement, wire: import("../../wire.js").Wire, chatId: string, panel: import("./topics-panel.js").TopicsPanel }} Page */

/**
 * `P` and `H` pin and hide the message that has the focus; with Shift, or a click with Shift, all
 * from the one that was marked last. `Ctrl+Z` takes the last choice back.
 * @param {Page} page
 */
export function startMarking({ list, root, wire, chatId, panel }) {
  let last = "";
  const button = /** @type {HTMLButtonElement} */ (root.querySelector("[data-panel=undo]"));

  const undo = async () => {
    try {
      const before = panel.state.hidden.size;
      const { undone, left, hidden } = await wire.call("smart_context.undo", { chat_id: chatId });
      button.hidden = left === 0;
      toast(undoneInWords(undone, (hidden?.length ?? 0) - before), { label: "Dismiss", act: () => {} });
      await panel.refresh();
    } catch (error) {
      toast(`Undo failed: ${reasonOf(error)}`);
    }
  };

  list?.addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("[data-action]") : null;
    const message = /** @type {HTMLElement | null} */ (pressed?.closest("[data-message-id]") ?? null);
    const action = pressed instanceof HTMLElement ? pressed.dataset.action : "";
    if (!message || (action !== "pin" && action !== "hide")) return;
    const id = message.dataset.messageId ?? "";
    if (event.shiftKey && last) {
      event.stopImmediatePropagation();
      panel.mark(action, between(list, last, id));
    }
    last = id;
  }, { capture: true });

  list?.addEventListener("keydown", (event) => {
    const verb = VERBS[/** @type {"p" | "h"} */ (event.key.toLowerCase())];
    const inside = event.target instanceof Element ? event.target.closest(".actions") : null;
    const message = /** @type {HTMLElement | null} */ (inside?.closest("[data-message-id]") ?? null);
    if (!verb || !message || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = message.dataset.messageId ?? "";
    const pressed = message.querySelector(`[data-action=${verb}]`)?.getAttribute("aria-pressed") === "true";
    event.preventDefault();
    if (event.shiftKey && last) panel.mark(verb, between(list, last, id));
    else panel.mark(pressed ? "release" : verb, [id]);
    last = id;
  });

  document.addEventListener("keydown", (event) => {
    const isUndo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
    const isWriting = event.target instanceof Element && event.target.matches("textarea, input:not([type=checkbox], [type=range])");
    if (!isUndo || isWriting) return;
    event.preventDefault();
    undo();
  });
  button.addEventListener("click", undo);
  wire.on("smart_context.filter_changed", (news) => {
    if (news.chat_id === chatId && typeof news.undo_steps === "number") button.hidden = news.undo_steps === 0;
  });
}

/** What was undone, for people. @param {string} undone @param {number} hidden  How many more messages are hidden now. */
export function undoneInWords(undone, hidden) {
  if (!undone) return "Nothing to undo.";
  if (undone === "hidden messages") {
    const words = Math.abs(hidden) === 1 ? "Message" : `${Math.abs(hidden)} messages`;
    return `${words} ${hidden < 0 ? "unhidden" : "hidden again"}.`;
  }
  const name = { "the topics": "Topics", "the filter": "Filter", "pinned messages": "Pins", "the threshold": "Strictness", "the contexts": "Contexts", "the role": "Role" }[undone];
  return `${name ?? "Choice"} restored.`;
}

/** The ids of two messages and of all between them. @param {HTMLElement} list @param {string} one @param {string} other */
function between(list, one, other) {
  const ids = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-message-id]")]).map((message) => message.dataset.messageId ?? "");
  const [from, to] = [ids.indexOf(one), ids.indexOf(other)].sort((a, b) => a - b);
  return from < 0 ? [other] : ids.slice(from, to + 1);
}
