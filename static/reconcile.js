// @ts-check
/** Makes the messages on the page the same as the server's, touching only what differs. */

/**
 * Puts the fresh messages in place of those from the first fresh one on. A message of the same
 * version stays as it is, with its focus and its buttons.
 * @param {HTMLElement} list
 * @param {readonly HTMLElement[]} fresh  Oldest first.
 * @param {(message: HTMLElement) => boolean} isLive  Messages that are still being written.
 * @returns {HTMLElement[]}  The messages that are new on the page.
 */
export function reconcile(list, fresh, isLive) {
  const shown = new Map(messagesIn(list).map((message) => [message.dataset.messageId, message]));
  const added = [];
  let next = (fresh.length && shown.get(fresh[0].dataset.messageId)) || null;
  if (!next && fresh.some((message) => shown.has(message.dataset.messageId))) next = messagesIn(list)[0];
  for (const message of fresh) {
    const old = shown.get(message.dataset.messageId);
    const stays = old && (isSame(old, message) || (isLive(old) && "generating" in message.dataset));
    const place = stays ? old : message;
    if (old === next && next) next = /** @type {HTMLElement | null} */ (next.nextElementSibling);
    if (old && !stays) old.remove();
    if (!stays || place.nextElementSibling !== next) list.insertBefore(place, next);
    if (!stays) added.push(message);
  }
  while (next) {
    const following = /** @type {HTMLElement | null} */ (next.nextElementSibling);
    next.remove();
    next = following;
  }
  return added;
}

/** @param {ParentNode} parent @returns {HTMLElement[]} */
export function messagesIn(parent) {
  return [...parent.querySelectorAll("[data-message-id]")].map((message) => /** @type {HTMLElement} */ (message));
}

/** @param {HTMLElement} a @param {HTMLElement} b */
function isSame(a, b) {
  return a.dataset.version === b.dataset.version && !("live" in a.dataset);
}
