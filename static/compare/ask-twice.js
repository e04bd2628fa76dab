// @ts-check
/** Asks what is in the message box twice: with what is picked, and with everything. */

import { isFiltered } from "../cloud/topic-state.js";
import { toast } from "../lib/toasts.js";
import { ComparisonDialog } from "./comparison.js";

/**
 * @typedef {object} Page
 * @property {import("../wire.js").Wire} wire
 * @property {string} chatId
 * @property {HTMLTextAreaElement} box  Where the message is written.
 * @property {() => Record<string, unknown>} attached  What goes with it.
 * @property {() => unknown} empty  Takes away what was attached.
 */

/** @param {HTMLElement} button  Shown while something is picked. @param {Page} page */
export function startAskTwice(button, { wire, chatId, box, attached, empty }) {
  const dialog = new ComparisonDialog(/** @type {HTMLDialogElement} */ (document.querySelector("#comparison")), wire, chatId);
  dialog.start();
  document.addEventListener("panel-changed", (event) => {
    button.hidden = !isFiltered(/** @type {CustomEvent} */ (event).detail);
    showUse();
  });
  // Not `disabled`: it stays focusable, and says what is missing.
  const showUse = () => button.setAttribute("aria-disabled", String(!box.value.trim()));
  box.addEventListener("input", showUse);
  box.form?.addEventListener("submit", () => queueMicrotask(showUse));
  button.addEventListener("click", () => {
    const question = box.value.trim();
    if (!question) {
      toast("Write a question first.");
      box.focus();
      return;
    }
    dialog.ask({
      question,
      names: { left: "With what you picked", right: "With everything" },
      params: { message: question, topics: [], ...attached() },
      kept: () => {
        if (box.value.trim() === question) box.value = "";
        empty();
        box.dispatchEvent(new Event("input"));
        box.focus();
      },
    });
  });
}
