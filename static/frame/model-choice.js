// @ts-check
/** The list of models: to choose that of a chat, whose name is below the message box, or of one answer. */

import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {{ model: string, name: string }} Choice */

/** Lets the button below the message box open the list. @param {import("../wire.js").Wire} wire @param {string} chatId */
export function startModelChoice(wire, chatId) {
  const button = /** @type {HTMLElement | null} */ (document.querySelector("[data-open-model]"));
  const name = button?.querySelector("[data-model-name]");
  if (!button || !name) return;
  button.addEventListener("click", () => chooseModel({
    wire,
    title: "Model of this chat",
    action: "Use it",
    current: button.dataset.model ?? "",
    use: async ({ model, name: label }) => {
      const chosen = await wire.call("chat.set_model", { chat_id: chatId, model: model || null });
      button.dataset.model = chosen.model;
      name.textContent = label;
      toast("The next message goes to this model.");
    },
  }));
}

/**
 * @typedef {object} Offer
 * @property {import("../wire.js").Wire} wire
 * @property {string} title
 * @property {string} action  What the button says.
 * @property {string} current  The model that is chosen now; empty: the default.
 * @property {(choice: Choice) => Promise<unknown>} use  Takes a model; empty: the default.
 */

/** Opens the list; it stays open while the choice can't be used. @param {Offer} offer */
export async function chooseModel({ wire, title, action, current, use }) {
  const dialog = /** @type {HTMLDialogElement} */ (document.querySelector("#chat-model"));
  const [heading, list, status, button] = ["[data-model-title]", "select", "[role=status]", "button.primary"].map((selector) => dialog.querySelector(selector));
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector("form[data-model-form]"));
  if (!heading || !(list instanceof HTMLSelectElement) || !status || !button) return;
  heading.textContent = title;
  button.textContent = action;
  status.textContent = "Asking the provider for its models…";
  dialog.onclick = (event) => event.target === dialog && dialog.close();
  form.onsubmit = async (event) => {
    event.preventDefault();
    const label = list.selectedOptions[0]?.text ?? "";
    try {
      await use({ model: list.value, name: list.value ? label : label.replace(/^Default \((.*)\)$/, "$1") });
      dialog.close();
    } catch (error) {
      status.textContent = reasonOf(error);
    }
  };
  dialog.showModal();
  list.focus();
  try {
    const found = await wire.call("system.models", {});
    const rows = found.models.map((/** @type {Choice} */ row) => new Option(row.name, row.model));
    list.replaceChildren(new Option(`Default (${found.default})`, ""), ...rows);
    list.value = current;
    if (list.selectedIndex < 0) list.selectedIndex = 0;
    status.textContent = "";
  } catch (error) {
    status.textContent = reasonOf(error);
  }
}
