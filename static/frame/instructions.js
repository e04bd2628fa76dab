// @ts-check
/** The instructions of a chat: what its model is told in each turn. */

import { reasonOf } from "../lib/text.js";
import { tellOfNext, toast } from "../lib/toasts.js";

/** Lets the chat's menu open the dialog. @param {import("../wire.js").Wire} wire @param {string} chatId */
export function startInstructions(wire, chatId) {
  const dialog = /** @type {HTMLDialogElement | null} */ (document.querySelector("#instructions"));
  const text = /** @type {HTMLTextAreaElement | null} */ (dialog?.querySelector("textarea") ?? null);
  const form = /** @type {HTMLFormElement | null} */ (dialog?.querySelector("form[data-instructions]") ?? null);
  if (!dialog || !text || !form) return;
  let kept = text.value;
  document.querySelector("[data-open-instructions]")?.addEventListener("click", () => {
    dialog.showModal();
    text.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  // Who leaves by accident finds what they wrote.
  dialog.addEventListener("close", () => {
    if (text.value !== kept) toast("The instructions are not saved yet.", { label: "Save", act: () => form.requestSubmit() });
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const params = { chat_id: chatId, text: text.value };
      kept = text.value = (await wire.call("chat.set_instructions", params)).instructions;
      dialog.close();
      if (kept) tellOfNext("The next message follows these instructions.", wire);
      else toast("This chat has no instructions now.");
    } catch (error) {
      toast(reasonOf(error));
    }
  });
}
