// @ts-check
/** Updates the messages on the page to the server's, and other lists, touching only what differs. */

/**
 * Makes the list contain exactly the fresh messages. A message of the same version stays as it is,
 * with its focus and its buttons.
 * @param {HTMLElement} list
 * @param {readonly HTMLElement[]} fresh  Oldest first.
 * @param {(message: HTMLElement) => boolean} isLive  Messages that are still being written.
 * @param {(old: HTMLElement, fresh: HTMLElement) => boolean} update  Makes a message on the page a newer one; false if it can't.
 * @returns {HTMLElement[]}  The messages that are new on the page, or changed.
 */
export function reconcile(list, fresh, isLive, update) {
  const shown = new Map(messagesIn(list).map((message) => [message.dataset.messageId, message]));
  const added = [];
  /** @type {HTMLElement | null} */
  let next = messagesIn(list)[0] ?? null;
  for (const message of fresh) {
    const old = shown.get(message.dataset.messageId);
    shown.delete(message.dataset.messageId);
    const isAsBefore = old && (isSame(old, message) || (isLive(old) && "generating" in message.dataset));
    const stays = isAsBefore || (old && update(old, message));
    const place = stays ? old : message;
    if (old && old === next) next = nextMessage(next);
    if (old && !stays) old.remove();
    if (!stays || nextMessage(old) !== next) list.insertBefore(place, next);
    if (!isAsBefore) added.push(place);
  }
  while (next) {
    const following = nextMessage(next);
    next.remove();
    next = following;
  }
  return added;
}

/**
 * Makes elements the only children of a list, in this order. Those that stay in their place are not
 * touched: one may be pressed just now, or have the focus.
 * @param {HTMLElement} list
 * @param {readonly Element[]} wanted
 */
export function keepOnly(list, wanted) {
  for (const old of [...list.children]) if (!wanted.includes(old)) old.remove();
  for (const [place, element] of wanted.entries()) {
    if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
  }
}

/** The next message, skipping the lines of folded runs. @param {HTMLElement} message */
function nextMessage(message) {
  let next = /** @type {HTMLElement | null} */ (message.nextElementSibling);
  while (next && !("messageId" in next.dataset)) next = /** @type {HTMLElement | null} */ (next.nextElementSibling);
  return next;
}

/**
 * The messages of a list, or of the lists that are children of an element.
 * @param {Element} parent
 * @returns {HTMLElement[]}
 */
export function messagesIn(parent) {
  // Not by a selector, which would visit every element in ten thousand messages.
  const lists = [parent, ...parent.children].filter((list) => list.classList.contains("messages"));
  const children = /** @type {HTMLElement[]} */ (lists.flatMap((list) => [...list.children]));
  return children.filter(({ dataset }) => dataset.messageId !== undefined);
}

/** @param {HTMLElement} a @param {HTMLElement} b */
function isSame(a, b) {
  return a.dataset.version === b.dataset.version && !("live" in a.dataset);
}
