// @ts-check
/** The model of a chat: its name below the message box, and a list to choose another from. */

import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {{ model: string, name: string }} Choice */

/** Lets the button below the message box open the list. @param {import("../wire.js").Wire} wire @param {string} chatId */
export function startModelChoice(wire, chatId) {
  const button = /** @type {HTMLElement | null} */ (document.querySelector("[data-open-model]"));
  const name = button?.querySelector("[data-model-name]");
  const dialog = /** @type {HTMLDialogElement | null} */ (document.querySelector("#chat-model"));
  const list = dialog?.querySelector("select");
  const status = dialog?.querySelector("[role=status]");
  const form = /** @type {HTMLFormElement | null} */ (dialog?.querySelector("form[data-model-form]") ?? null);
  if (!button || !name || !dialog || !list || !status || !form) return;

  const fill = async () => {
    status.textContent = "Asking the provider for its models…";
    try {
      const found = await wire.call("system.models", {});
      const rows = found.models.map((/** @type {Choice} */ row) => new Option(row.name, row.model));
      list.replaceChildren(new Option(`Default (${found.default})`, ""), ...rows);
      list.value = button.dataset.model ?? "";
      if (list.selectedIndex < 0) list.selectedIndex = 0;
      status.textContent = "";
    } catch (error) {
      status.textContent = reasonOf(error);
    }
  };

  button.addEventListener("click", () => {
    dialog.showModal();
    list.focus();
    fill();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const chosen = await wire.call("chat.set_model", { chat_id: chatId, model: list.value || null });
      button.dataset.model = chosen.model;
      const label = list.selectedOptions[0]?.text ?? "";
      name.textContent = chosen.model ? label : label.replace(/^Default \((.*)\)$/, "$1");
      dialog.close();
      toast("The next message goes to this model.");
    } catch (error) {
      status.textContent = reasonOf(error);
    }
  });
}
