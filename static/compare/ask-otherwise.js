// @ts-check
/** Asks the question of a past turn again with the choices of the form, beside the answer of then. */

import { pageWire } from "../frame/connection.js";
import { ComparisonDialog } from "./comparison.js";

/** @param {HTMLButtonElement} button  In the form. */
export function startAskOtherwise(button) {
  const { form } = button;
  const { chat: chatId = "", turn = "", model = "" } = button.dataset;
  if (!form) return;
  /** @type {ComparisonDialog | undefined} */
  let dialog;
  button.hidden = false;
  button.addEventListener("click", () => {
    if (!dialog) {
      const wire = pageWire();
      dialog = new ComparisonDialog(/** @type {HTMLDialogElement} */ (document.querySelector("#comparison")), wire, chatId);
      dialog.start();
      wire.connect();
    }
    const fields = new FormData(form);
    const asked = String(fields.get("model") ?? "").trim();
    dialog.ask({
      question: document.querySelector("#turn-title")?.textContent ?? "",
      names: { left: "As it was answered", right: "With these choices" },
      params: {
        turn,
        topics: fields.getAll("topics").concat(fields.getAll("topic")).map(String),
        threshold: Number(fields.get("threshold")),
        relevance: fields.get("relevance"),
        ...(asked && asked !== model ? { model: asked } : {}),
      },
      kept: () => location.assign(`/chats/${encodeURIComponent(chatId)}`),
    });
  });
}
