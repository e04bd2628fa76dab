// @ts-check
/** The question until the server has stored it, and the welcome while there is nothing else. */

import { messagesIn } from "../../lib/reconcile.js";
import { visible } from "../../lib/text.js";

/**
 * @param {HTMLElement} measure  Holds the messages, and the question after them.
 * @param {string} text
 * @param {readonly import("../../composer/attached.js").Attached[]} attached
 */
export function showPending(measure, text, attached) {
  const question = document.createElement("div");
  question.className = "pending-question";
  question.dir = "auto";
  question.textContent = visible([text, ...attached.map(({ name }) => `📎 ${name}`)].join("\n"));
  boxIn(measure).replaceChildren(question);
  showWelcome(measure);
}

/** @param {HTMLElement} measure */
export function clearPending(measure) {
  boxIn(measure).replaceChildren();
  showWelcome(measure);
}

/** Welcomes whoever has an empty chat before them. @param {HTMLElement} measure */
export function showWelcome(measure) {
  document.body.toggleAttribute("data-empty", !messagesIn(measure).length && !boxIn(measure).childElementCount);
}

/** @param {HTMLElement} measure */
function boxIn(measure) {
  return /** @type {HTMLElement} */ (measure.querySelector(".pending"));
}
