// @ts-check
/** A notice of what was done to topics that can take that back, and nothing else. */

import { toast } from "../../lib/toasts.js";

/**
 * The notice goes once its deed is undone elsewhere, or another choice came after it.
 * @param {string} words
 * @param {string} undoWords  What the server calls the deed.
 * @param {import("./topics-panel.js").TopicsPanel} panel
 */
export function tellWithUndo(words, undoWords, panel) {
  const act = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-panel=undo]"))?.click();
  const close = toast(words, { label: "Undo", act });
  let isLast = panel.state.undoWords === undoWords;
  const look = (/** @type {Event} */ event) => {
    const { undoWords: last } = /** @type {CustomEvent} */ (event).detail;
    if (isLast && last !== undoWords) {
      document.removeEventListener("panel-changed", look);
      close();
    }
    isLast = last === undoWords;
  };
  document.addEventListener("panel-changed", look);
}
