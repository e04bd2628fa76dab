// @ts-check
/** How strictly messages of this chat have to be about a topic: narrow, normal, or wide. */

import { reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { isFiltered } from "../../cloud/topic-state.js";

/**
 * @param {HTMLElement} root  The `.threshold` row.
 * @param {import("../../wire.js").Wire} wire
 * @param {string} chatId
 * @param {import("./peek.js").Peek} peek  Tells what each would change, while the pointer is on it.
 */
export function startThreshold(root, wire, chatId, peek) {
  const radios = /** @type {HTMLInputElement[]} */ ([...root.querySelectorAll("input")]);
  const other = /** @type {HTMLElement} */ (root.querySelector("[data-other]"));
  const reset = /** @type {HTMLButtonElement} */ (root.querySelector("[data-reset]"));

  /** @param {number | null} threshold */
  const store = async (threshold) => {
    peek.end();
    try {
      await wire.call("smart_context.set_threshold", { chat_id: chatId, threshold });
    } catch (error) {
      toast(`Couldn’t set the strictness: ${reasonOf(error)}`);
    }
  };
  /** What was set in a file or by a command may be another value. @param {number} threshold */
  const show = (threshold) => {
    const [ours] = radios.slice(-1);
    const known = radios.slice(0, -1).find(({ value }) => Number(value) === threshold);
    other.hidden = Boolean(known);
    if (!known) ours.value = String(threshold);
    (known ?? ours).checked = true;
  };
  for (const radio of radios) {
    const label = /** @type {HTMLElement} */ (radio.closest("label"));
    radio.addEventListener("change", () => store(Number(radio.value)));
    label.addEventListener("pointerenter", () => {
      if (!radio.checked) peek.ask({ words: label.textContent?.trim() ?? "", params: { threshold: Number(radio.value) } });
    });
    label.addEventListener("pointerleave", () => peek.end());
  }
  reset.addEventListener("click", () => store(null));
  document.addEventListener("panel-changed", (event) => {
    const state = /** @type {CustomEvent<import("../../cloud/topic-state.js").PanelState>} */ (event).detail;
    root.hidden = !isFiltered(state) || state.threshold === null;
    reset.hidden = !state.isOwnThreshold;
    if (state.threshold !== null) show(state.threshold);
  });
}
