// @ts-check
/** The chip of the standing instructions: opens to the messages that are always sent. */

import { reasonOf, visible } from "../../lib/text.js";

/** @param {HTMLDetailsElement} chip @param {import("../../wire.js").Wire} wire @param {string} chatId */
export function startStanding(chip, wire, chatId) {
  /** @type {readonly string[]} */
  let ids = [];
  const list = /** @type {HTMLElement} */ (chip.querySelector("ul"));
  const fill = async () => {
    if (!chip.open) return;
    try {
      const { reasons } = await wire.call("smart_context.reasons", { chat_id: chatId, message_ids: ids });
      list.replaceChildren(...ids.map((id) => line(id, reasons[id]?.text ?? "")));
      if (!ids.length) list.replaceChildren(line("", "No message of this chat gives any yet. Instructions of this chat are in its menu, those of all chats in Settings."));
    } catch (error) {
      list.replaceChildren(line("", reasonOf(error)));
    }
  };
  chip.addEventListener("toggle", fill);
  document.addEventListener("panel-changed", (event) => {
    const state = /** @type {CustomEvent<import("../../cloud/topic-state.js").PanelState>} */ (event).detail;
    const now = [...state.sticky];
    if (now.join() === ids.join()) return;
    ids = now;
    fill();
  });
}

/** @param {string} id @param {string} text */
function line(id, text) {
  const entry = document.createElement("li");
  const words = document.createElement(id ? "a" : "span");
  if (words instanceof HTMLAnchorElement) words.href = `#m-${encodeURIComponent(id)}`;
  words.dir = "auto";
  words.textContent = visible(text);
  entry.append(words);
  return entry;
}
