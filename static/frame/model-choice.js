// @ts-check
/** The list of models: to choose that of a chat, whose name is below the message box, or of one answer. */

import { areMany, chosenModel, listModels, narrowModels, writesAnswers } from "../lib/model-list.js";
import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../lib/model-list.js").Choice} Choice */

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
 * @property {boolean} [isOther]  Another one than that is wanted, and the default by one name only.
 * @property {(choice: Choice) => Promise<unknown>} use  Takes a model; empty: the default.
 */

/** Opens the list; it stays open while the choice can't be used. @param {Offer} offer */
export async function chooseModel({ wire, title, action, current, isOther = false, use }) {
  const dialog = /** @type {HTMLDialogElement} */ (document.querySelector("#chat-model"));
  const [heading, list, status, button] = ["[data-model-title]", ".model-list", "[role=status]", "button.primary"].map(
    (selector) => /** @type {HTMLElement} */ (dialog.querySelector(selector)),
  );
  const box = /** @type {HTMLInputElement} */ (dialog.querySelector("input[type=search]"));
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector("form[data-model-form]"));
  heading.textContent = title;
  button.textContent = action;
  status.textContent = "Asking the provider for its models…";
  box.value = "";
  box.hidden = true;
  list.replaceChildren();
  box.oninput = () => narrowModels(list, box.value);
  dialog.onclick = (event) => {
    if (event.target === dialog) dialog.close(); // a handler that gives `false` would undo the choice of a radio button
  };
  list.ondblclick = () => form.requestSubmit();
  form.onsubmit = async (event) => {
    event.preventDefault();
    const choice = chosenModel(list);
    if (!choice) return;
    try {
      await use({ model: choice.model, name: choice.model ? choice.name : choice.name.replace(/^Default \((.*)\)$/, "$1") });
      dialog.close();
    } catch (error) {
      status.textContent = reasonOf(error);
    }
  };
  dialog.showModal();
  try {
    const found = await wire.call("system.models", {});
    const isTwice = (/** @type {Choice} */ one) => isOther && one.name === found.default;
    const isOffered = (/** @type {Choice} */ one) => (writesAnswers(one.model) || one.model === current) && !isTwice(one);
    const choices = [{ model: "", name: `Default (${found.default})` }, ...found.models.filter(isOffered)];
    const isKnown = choices.some(({ model }) => model === current);
    const other = isOther ? choices.find(({ model }) => model !== current) : undefined;
    listModels(list, choices, other?.model ?? (isKnown ? current : ""));
    box.hidden = !areMany(choices);
    status.textContent = "";
    (box.hidden ? /** @type {HTMLElement | null} */ (list.querySelector("input:checked")) : box)?.focus();
  } catch (error) {
    status.textContent = reasonOf(error);
  }
}
