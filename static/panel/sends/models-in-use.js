// @ts-check
/** Keeps the names of the models in use right while the settings change. */

/** @param {import("../../wire.js").Wire} wire @param {string} chatId  Whose own model is shown, if it has one; empty: none. */
export function startModels(wire, chatId) {
  wire.on("system.config_read", async ({ faults }) => {
    if (!faults?.length) show(await wire.call("system.status", chatId ? { chat_id: chatId } : {}));
  });
}

/** @param {Record<string, unknown>} status */
function show(status) {
  for (const name of found(".models [data-model]")) {
    name.textContent = String(status[name.dataset.model ?? ""] ?? "");
  }
  document.body.dataset.connected = String(!status.chat_is_embedded);
  const why = status.chat_is_restricted ? "restricted" : status.chat_is_embedded ? "none" : "";
  for (const words of found(".models [data-answers]")) words.hidden = words.dataset.answers !== why;
  for (const line of found(".composer-model")) {
    line.hidden = line.dataset.connected !== String(!status.chat_is_embedded);
  }
  for (const button of found("[data-open-model]")) {
    const name = button.querySelector("[data-model-name]");
    if (name) name.textContent = String(status.chat_model ?? "");
    if (button.dataset.model) button.dataset.model = String(status.chat_choice ?? "");
    button.title = String(status.chat_connection ?? "");
  }
}

/** @param {string} selector @returns {NodeListOf<HTMLElement>} */
function found(selector) {
  return document.querySelectorAll(selector);
}
