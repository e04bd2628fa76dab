// @ts-check
/** A chat of another program is continued in a copy. */

import { reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

/** @param {import("../../wire.js").Wire} wire @param {string} chatId */
export function startContinueHere(wire, chatId) {
  document.querySelector("[data-continue-here]")?.addEventListener("click", async () => {
    try {
      const copy = await wire.call("memory.copy_chat", { chat_id: chatId });
      location.assign(`/chats/${copy.chat_id}`);
    } catch (error) {
      toast(reasonOf(error));
    }
  });
}
