// @ts-check
/** The threshold of this chat: moves live, and is stored when it is let go. */

import { reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { isFiltered } from "../../cloud/topic-state.js";

/**
 * @param {HTMLElement} root  The `.threshold` row.
 * @param {import("../../wire.js").Wire} wire
 * @param {string} chatId
 * @param {import("./peek.js").Peek} peek
 */
export function startThreshold(root, wire, chatId, peek) {
  const slider = /** @type {HTMLInputElement} */ (root.querySelector("input"));
  const output = /** @type {HTMLOutputElement} */ (root.querySelector("output"));
  const reset = /** @type {HTMLButtonElement} */ (root.querySelector("[data-reset]"));
  let isMoving = false;

  /** @param {number} value */
  const tell = (value) => {
    output.textContent = value.toFixed(2);
    slider.setAttribute("aria-valuetext", value.toFixed(2));
  };
  /** @param {number | null} threshold */
  const store = async (threshold) => {
    try {
      await wire.call("smart_context.set_threshold", { chat_id: chatId, threshold });
    } catch (error) {
      toast(`Couldn’t set the strictness: ${reasonOf(error)}`);
    } finally {
      isMoving = false;
      peek.end();
    }
  };
  slider.addEventListener("input", () => {
    isMoving = true;
    tell(slider.valueAsNumber);
    const words = `At ${slider.valueAsNumber.toFixed(2)}`;
    peek.ask({ words, params: { threshold: slider.valueAsNumber } });
  });
  slider.addEventListener("change", () => store(slider.valueAsNumber));
  reset.addEventListener("click", () => store(null));
  document.addEventListener("panel-changed", (event) => {
    const state = /** @type {CustomEvent<import("../../cloud/topic-state.js").PanelState>} */ (event).detail;
    root.hidden = !isFiltered(state) || state.threshold === null;
    reset.hidden = !state.isOwnThreshold;
    if (isMoving || state.threshold === null) return;
    slider.valueAsNumber = state.threshold;
    tell(state.threshold);
  });
}
