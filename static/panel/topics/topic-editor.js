// @ts-check
/** Topics by hand: other names, some gone, some of one's own. */

import { isComposing } from "../../lib/composing.js";
import { reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { tellWithUndo } from "./undo-notice.js";

/**
 * @param {HTMLElement} root  The `.edit-topics` element.
 * @param {import("../../wire.js").Wire} wire
 * @param {string} chatId
 * @param {import("./topics-panel.js").TopicsPanel} panel
 */
export function startTopicEditor(root, wire, chatId, panel) {
  const list = /** @type {HTMLElement} */ (root.querySelector(".edit-list"));
  const form = /** @type {HTMLFormElement} */ (root.querySelector(".add-topic"));
  const field = /** @type {HTMLInputElement} */ (form.querySelector("input"));

  let shown = "";

  /** @param {string} verb @param {Record<string, unknown>} params */
  const change = async (verb, params) => {
    try {
      const { undo_words: done = "" } = await wire.call(`smart_context.${verb}`, { chat_id: chatId, ...params });
      if (done.includes(" merged into ")) tellWithUndo(`${visible(done)}.`, done, panel);
      return true;
    } catch (error) {
      toast(reasonOf(error));
      shown = "";
      show(panel.state);
      return false;
    }
  };
  /** The name that was just given by Enter: its field has the focus again. */
  let renamed = "";
  const nameOf = (/** @type {string} */ label) => /** @type {HTMLElement | null} */ (list.querySelector(`[data-label="${CSS.escape(label)}"] input`));
  /** @param {import("../../cloud/topic-state.js").PanelState} state */
  const show = (state) => {
    const rows = JSON.stringify(state.topics.map(({ label, count }) => [label, count]));
    // Rows that are the same stay: one that is being pressed must not be put in another's place.
    if (rows === shown || (list.contains(document.activeElement) && list.querySelector("input:focus"))) return;
    shown = rows;
    list.replaceChildren(...state.topics.map((topic) => row(root, topic)));
    if (renamed) nameOf(renamed)?.focus();
    renamed = "";
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const label = field.value.trim();
    if (label && (await change("add_topic", { label }))) field.value = "";
  });
  list.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const label = labelOf(input);
    const wanted = input.value.trim();
    if (!wanted) input.value = label;
    else if (wanted !== label) change("rename_topic", { label, new_label: wanted });
  });
  list.addEventListener("keydown", (event) => {
    const input = event.target;
    if (!(input instanceof HTMLInputElement) || isComposing(event)) return;
    if (event.key === "Escape") input.value = labelOf(input);
    const wanted = input.value.trim();
    if (event.key === "Enter" && wanted !== labelOf(input)) renamed = wanted;
    if (renamed || event.key === "Escape") input.blur();
    event.stopPropagation();
  });
  list.addEventListener("focusout", () => setTimeout(() => show(panel.state)));
  list.addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("[data-delete]") : null;
    if (pressed) change("delete_topic", { label: labelOf(pressed) });
  });
  document.addEventListener("rename-topics", (event) => {
    const [label] = /** @type {CustomEvent<{ topics: readonly string[] }>} */ (event).detail.topics;
    const options = root.closest(".panel-options");
    for (const folded of [options, root]) if (folded instanceof HTMLDetailsElement) folded.open = true;
    const name = /** @type {HTMLInputElement | null} */ (list.querySelector(`[data-label="${CSS.escape(label)}"] input`));
    name?.focus();
    name?.select();
  });
  document.addEventListener("panel-changed", (event) => show(/** @type {CustomEvent} */ (event).detail));
}

/** @param {Element} within */
function labelOf(within) {
  return /** @type {HTMLElement} */ (within.closest("[data-label]")).dataset.label ?? "";
}

/** @param {HTMLElement} root @param {import("../../cloud/topic-state.js").Topic} topic */
function row(root, { label, count }) {
  const template = /** @type {HTMLTemplateElement} */ (root.ownerDocument.querySelector(".edit-topic-template"));
  const line = /** @type {HTMLElement} */ (document.importNode(/** @type {Element} */ (template.content.firstElementChild), true));
  const input = /** @type {HTMLInputElement} */ (line.querySelector("input"));
  line.dataset.label = label;
  input.value = label;
  input.setAttribute("aria-label", `Name of the topic ${visible(label)}`);
  const counted = line.querySelector(".edit-count");
  if (counted) counted.textContent = String(count);
  const words = line.querySelector("[data-delete] .visually-hidden");
  if (words) words.textContent = `Delete the topic ${visible(label)}`;
  return line;
}
