// @ts-check
/** The versions of a message: answering again leaves the former one, and both can be shown. */

import { messagesIn } from "../../lib/reconcile.js";
import { messagesCounted, reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

/** @typedef {import("./message-actions.js").Page} Page */

/**
 * Shows the version before or after the current one; what is read stays where it is.
 * @param {HTMLButtonElement} pressed
 * @param {HTMLElement} message  The first one of the current version.
 * @param {Page} page
 */
export async function showVersion(pressed, message, { wire, chatId, show, announce }) {
  const { top } = message.getBoundingClientRect();
  const isBack = pressed.nextElementSibling !== null;
  const asked = { chat_id: chatId, message_id: message.dataset.messageId, version: Number(pressed.dataset.show) };
  const { message_id: id, version, versions } = await wire.call("chat.show_version", asked);
  const shown = await show(id, top);
  const buttons = /** @type {HTMLButtonElement[]} */ ([...(shown?.querySelectorAll("[data-action=version]") ?? [])]);
  const wanted = isBack ? buttons : [...buttons].reverse();
  wanted.find((button) => !button.disabled)?.focus({ preventScroll: true });
  announce(`Version ${version} of ${versions}`);
}

/**
 * Answers a question again. Done when the answer begins; fails if it doesn't.
 * @param {HTMLElement} message  The question, or its answer.
 * @param {Page} page
 * @param {{ text?: string, model?: string, what_fits?: boolean }} [changes]  What to ask instead, and the model to
 *   ask this once, as `chat.regenerate` takes them.
 */
export async function answerAgain(message, page, changes = {}) {
  const { wire, chatId } = page;
  const isEdited = changes.text !== undefined;
  const left = leftBy(message, isEdited);
  const asked = { chat_id: chatId, message_id: message.dataset.messageId, ...changes };
  await new Promise((resolve, reject) => {
    const forget = wire.on("chat.started", (news) => {
      if (news.chat_id === chatId) resolve(undefined);
    });
    // An answer that fails later is in the chat, and says why.
    wire.call("chat.regenerate", asked).then(resolve, reject).finally(forget);
  });
  if (left.length > (isEdited ? 2 : 1)) offerUndo(left, page);
}

/** The question that a message answers, or the message itself. @param {HTMLElement} message */
export function questionOf(message) {
  const messages = shownMessages();
  return messages.slice(0, messages.indexOf(message) + 1).findLast(({ dataset }) => dataset.role === "user") ?? message;
}

/** The ids of the messages that stay with the former version. @param {HTMLElement} message @param {boolean} isEdited */
function leftBy(message, isEdited) {
  const messages = shownMessages();
  const question = messages.indexOf(questionOf(message));
  return messages.slice(isEdited ? question : question + 1).map(({ dataset }) => dataset.messageId ?? "");
}

/** @param {readonly string[]} left @param {Page} page */
function offerUndo(left, { wire, chatId, show }) {
  toast(`${messagesCounted(left.length)} stay with the former version`, {
    label: "Undo",
    act: async () => {
      try {
        await wire.call("chat.stop", { chat_id: chatId });
        const { message_id: id } = await wire.call("chat.show_version", { chat_id: chatId, message_id: left[0] });
        await show(id);
      } catch (error) {
        toast(reasonOf(error));
      }
    },
  });
}

function shownMessages() {
  return messagesIn(/** @type {HTMLElement} */ (document.querySelector(".measure")));
}
