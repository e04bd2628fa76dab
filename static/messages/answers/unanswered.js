// @ts-check
/** The question for which a reader connects a model: it is answered once they come back with one. */

const KEY = "unanswered";

/** @typedef {{ chatId: string, messageId: string, isConnected?: boolean }} Unanswered */

/** Remembers whose link to the settings was followed. @param {HTMLElement} list @param {string} chatId */
export function watchUnanswered(list, chatId) {
  document.addEventListener("click", ({ target }) => {
    const link = target instanceof Element ? target.closest("a[href='/settings']") : null;
    if (!link) return;
    const message = link.closest("[data-message-id]") ?? [...list.querySelectorAll("[data-message-id]")].at(-1);
    const isUnanswered = message instanceof HTMLElement && "extracted" in message.dataset;
    if (isUnanswered) keep({ chatId, messageId: message.dataset.messageId ?? "" });
    else sessionStorage.removeItem(KEY);
  });
}

/** Says that a model is connected now. @returns {string} Where the question is; empty if none waits. */
export function goBackToAnswer() {
  const waiting = kept();
  if (!waiting) return "";
  keep({ ...waiting, isConnected: true });
  return `/chats/${encodeURIComponent(waiting.chatId)}`;
}

/** The message of a chat that is to be answered now; empty if there is none. @param {string} chatId */
export function takeUnanswered(chatId) {
  const waiting = kept();
  if (!waiting?.isConnected || waiting.chatId !== chatId) return "";
  sessionStorage.removeItem(KEY);
  return waiting.messageId;
}

/** @param {Unanswered} waiting */
function keep(waiting) {
  sessionStorage.setItem(KEY, JSON.stringify(waiting));
}

/** @returns {Unanswered | null} */
function kept() {
  return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
}
