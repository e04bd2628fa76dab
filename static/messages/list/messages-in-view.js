// @ts-check
/** Finds the messages in view, without measuring the others, and those being answered. */

const STEP_PX = 24;
/** An answer that is being written is among the last messages. */
const NEWEST = 8;

/**
 * The messages in view, those nearest to the middle first, each with its position in the window.
 * @param {HTMLElement} scroll
 * @returns {{ message: HTMLElement, top: number }[]}
 */
export function messagesInView(scroll) {
  const { top, bottom, left, width } = scroll.getBoundingClientRect();
  const middle = (top + bottom) / 2;
  /** @type {Map<HTMLElement, DOMRect>} */
  const found = new Map();
  for (let y = top + 1; y < bottom; y += STEP_PX) {
    const message = document.elementFromPoint(left + width / 2, y)?.closest("[data-message-id]");
    if (!(message instanceof HTMLElement)) continue;
    const rect = message.getBoundingClientRect();
    found.set(message, rect);
    y = Math.max(y, rect.bottom - STEP_PX);
  }
  const seen = [...found].map(([message, rect]) => ({ message, rect }));
  const distance = (/** @type {DOMRect} */ rect) => Math.max(rect.top - middle, middle - rect.bottom, 0);
  seen.sort((a, b) => distance(a.rect) - distance(b.rect));
  return seen.map(({ message, rect }) => ({ message, top: rect.top }));
}

/** True if part of the message is in view. @param {HTMLElement} scroll @param {HTMLElement} message */
export function isInView(scroll, message) {
  const view = scroll.getBoundingClientRect();
  const { top, bottom, height } = message.getBoundingClientRect();
  return height > 0 && bottom > view.top + STEP_PX && top < view.bottom - STEP_PX;
}

/** The index of the question that is being answered; the number of messages if none is. @param {readonly HTMLElement[]} messages */
export function underWay(messages) {
  let at = messages.length - 1;
  while (at >= 0 && !("generating" in messages[at].dataset) && messages.length - at < NEWEST) at -= 1;
  if (at < 0 || !("generating" in messages[at].dataset)) return messages.length;
  return at > 0 && messages[at - 1].dataset.role === "user" ? at - 1 : at;
}
