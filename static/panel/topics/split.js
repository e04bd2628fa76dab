// @ts-check
/** Gives topics a chat of their own. */

import { openMade } from "../../messages/chat-menu.js";
import { reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

/** @param {import("../../wire.js").Wire} wire @param {string} chatId */
export function startSplit(wire, chatId) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("split-dialog"));
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector("form[data-split]"));
  const title = /** @type {HTMLInputElement} */ (form.querySelector("[name=title]"));
  /** @type {readonly string[]} */
  let topics = [];
  document.addEventListener("split-topics", (event) => {
    topics = /** @type {CustomEvent} */ (event).detail.topics;
    title.value = visible(topics.join(", "));
    dialog.showModal();
    title.select();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const move = new FormData(form).get("kind") === "move";
    form.toggleAttribute("inert", true);
    try {
      await openMade(wire, "smart_context.split", { chat_id: chatId, topics, title: title.value, move });
    } catch (error) {
      toast(reasonOf(error));
    } finally {
      form.toggleAttribute("inert", false);
      dialog.close();
    }
  });
}
