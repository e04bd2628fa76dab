// @ts-check
/** Pins and hides by key and by range, and takes choices back. */

import { announce } from "../../lib/announce.js";
import { reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

/** What is said to who hears the page: the status line may stay the same. */
const SAID = { pin: "Pinned: always sent", hide: "Hidden: never sent", release: "Sent by the filter's choice again" };
const VERBS = /** @type {const} */ ({ p: "pin", h: "hide" });

/** @typedef {{ list: HTMLElement | null, root: HTMLElement, wire: import("../../wire.js").Wire, chatId: string, panel: import("./topics-panel.js").TopicsPanel }} Page */

/**
 * `A` asks what the message is about that has the focus; `P` and `H` pin and hide it; with Shift, or a click with Shift, all
 * from the one that was marked last. `Ctrl+Z` takes the last choice back.
 * @param {Page} page
 */
export function startMarking({ list, root, wire, chatId, panel }) {
  let last = "";
  const button = /** @type {HTMLButtonElement} */ (root.querySelector("[data-panel=undo]"));

  const undo = async () => {
    try {
      const { undone_words: undone } = await wire.call("smart_context.undo", { chat_id: chatId });
      toast(undone ? `Undone: ${visible(undone)}.` : "Nothing to undo.", { label: "Dismiss", act: () => {} });
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
    if (event.key.toLowerCase() === "a" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const chosen = event.target instanceof Element && event.target.closest(".actions") ? event.target.closest("[data-message-id]") : null;
      const about = /** @type {HTMLElement | null | undefined} */ (chosen?.querySelector("[data-action=about]"));
      if (about) event.preventDefault(); // the letter would choose in the list
      about?.click();
    }
    const verb = VERBS[/** @type {"p" | "h"} */ (event.key.toLowerCase())];
    const inside = event.target instanceof Element ? event.target.closest(".actions") : null;
    const message = /** @type {HTMLElement | null} */ (inside?.closest("[data-message-id]") ?? null);
    if (!verb || !message || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = message.dataset.messageId ?? "";
    const pressed = message.querySelector(`[data-action=${verb}]`)?.getAttribute("aria-pressed") === "true";
    event.preventDefault();
    const isRange = event.shiftKey && last;
    const done = pressed && !isRange ? "release" : verb;
    panel.mark(done, isRange ? between(list, last, id) : [id]).then((isDone) => isDone && announce(SAID[done]));
    last = id;
  });

  document.addEventListener("keydown", (event) => {
    const isUndo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
    const isWriting = event.target instanceof Element && event.target.matches("textarea, input:not([type=checkbox], [type=range])");
    if (!isUndo || isWriting) return;
    event.preventDefault();
    undo();
  });
  for (const pressed of [button, root.querySelector("[data-panel=undo-moved]")]) pressed?.addEventListener("click", undo);
  /** @param {string} undoWords  What the last choice did. */
  const show = (undoWords) => {
    button.hidden = !undoWords;
    button.title = `Undo: ${visible(undoWords)}`;
    /** @type {HTMLElement} */ (button.querySelector(".visually-hidden")).textContent = button.title;
  };
  root.addEventListener("panel-changed", (event) => show(/** @type {CustomEvent} */ (event).detail.undoWords));
  show(panel.state.undoWords);
}

/** The ids of two messages and of all between them. @param {HTMLElement} list @param {string} one @param {string} other */
function between(list, one, other) {
  const ids = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[data-message-id]")]).map((message) => message.dataset.messageId ?? "");
  const [from, to] = [ids.indexOf(one), ids.indexOf(other)].sort((a, b) => a - b);
  return from < 0 ? [other] : ids.slice(from, to + 1);
}
