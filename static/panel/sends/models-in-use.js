// @ts-check
/** Keeps the names of the models in use right while the settings change. */

/** @param {import("../../wire.js").Wire} wire */
export function startModels(wire) {
  wire.on("system.config_read", async ({ faults }) => {
    if (!faults?.length) show(await wire.call("system.status"));
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
    const category = button.dataset.model || "chat";
    if (name && !category.includes("/")) name.textContent = String(status[`${category}_model`] ?? "");
  }
}

/** @param {string} selector @returns {NodeListOf<HTMLElement>} */
function found(selector) {
  return document.querySelectorAll(selector);
}
