// @ts-check
/** Keeps the names of the models in use right while the settings change. */

/** @param {import("../../wire.js").Wire} wire */
export function startModels(wire) {
  const box = /** @type {HTMLElement | null} */ (document.querySelector(".models"));
  if (!box) return;
  wire.on("system.config_read", async ({ faults }) => {
    if (!faults?.length) show(box, await wire.call("system.status"));
  });
}

/** @param {HTMLElement} box @param {Record<string, unknown>} status */
function show(box, status) {
  for (const name of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-model]"))) {
    name.textContent = String(status[name.dataset.model ?? ""] ?? "");
  }
  const why = status.chat_is_restricted ? "restricted" : status.chat_is_embedded ? "none" : "";
  for (const words of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-answers]"))) {
    words.hidden = words.dataset.answers !== why;
  }
}
