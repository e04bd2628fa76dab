// @ts-check
/**
 * A bubble taken in the hand: onto another merges, out of the cloud mutes, into the message box picks,
 * onto a chat of the list recalls it there. A message taken at its *About…* button, and let go on a bubble, is about
 * that. The menus of topics and messages do the same with the keyboard.
 */

import { inputOf } from "../../cloud/cloud-view.js";
import { visible } from "../../lib/text.js";
import { exchangeOf } from "../../messages/list/message-actions.js";

const BEGINS_PX = 8;

/** @typedef {{ place: Element | null, words: string, act: () => Promise<unknown> } | null} Target */

/** @param {HTMLElement} root  The `.topics` element. @param {import("./topic-deeds.js").TopicDeeds} deeds */
export function startBubbleInHand(root, deeds) {
  root.addEventListener("pointerdown", (event) => {
    const bubble = event.target instanceof Element ? event.target.closest(".bubble:not([data-leaving])") : null;
    // A finger scrolls; a long press opens the menu.
    if (!(bubble instanceof HTMLElement) || event.button || event.pointerType === "touch") return;
    if (event.target instanceof Element && event.target.closest(".bubble-open")) return;
    take(bubble, event, (at) => targetAt(bubble, at, deeds));
  });
}

/** @param {HTMLElement} list  The element that holds the messages. @param {import("./topic-deeds.js").TopicDeeds} deeds */
export function startMessageInHand(list, deeds) {
  list.addEventListener("pointerdown", (event) => {
    const handle = event.target instanceof Element ? event.target.closest("[data-action=about]") : null;
    const message = /** @type {HTMLElement | null | undefined} */ (handle?.closest("[data-message-id]"));
    if (!(handle instanceof HTMLElement) || !message || event.button || event.pointerType === "touch") return;
    take(handle, event, (at) => topicAt(exchangeOf(message), at, deeds));
  });
}

/**
 * @param {HTMLElement} taken  A bubble, or the handle of a message.
 * @param {PointerEvent} from
 * @param {(at: PointerEvent) => Target} targetOf
 */
function take(taken, from, targetOf) {
  const listening = new AbortController();
  const { signal } = listening;
  /** @type {Target} */
  let target = null;
  const words = /** @type {HTMLElement} */ (document.querySelector(".in-hand-words"));
  const isHeld = () => "held" in taken.dataset;

  /** @param {Target} next @param {{ clientX: number, clientY: number }} at */
  const aim = (next, { clientX, clientY }) => {
    if (target?.place !== next?.place) {
      target?.place?.removeAttribute("data-drop");
      next?.place?.setAttribute("data-drop", "");
    }
    target = next;
    taken.toggleAttribute("data-veiled", Boolean(next?.place?.matches(".bubble")));
    words.hidden = !next;
    if (words.textContent !== (next?.words ?? "")) words.textContent = next?.words ?? "";
    words.style.setProperty("translate", `${Math.min(clientX + 14, innerWidth - words.offsetWidth - 8)}px ${clientY + 16}px`);
  };
  const letGo = () => {
    listening.abort();
    aim(null, from);
    delete taken.dataset.held;
    taken.style.removeProperty("translate");
  };

  // A press on selected text would drag that text instead, and no pointer would be heard of again.
  addEventListener("dragstart", (event) => event.preventDefault(), { signal });
  addEventListener("pointermove", (event) => {
    const [x, y] = [event.clientX - from.clientX, event.clientY - from.clientY];
    if (!isHeld() && Math.hypot(x, y) < BEGINS_PX) return;
    taken.dataset.held = "";
    words.dataset.hue = taken.dataset.hue;
    taken.style.setProperty("translate", `${x}px ${y}px`);
    aim(targetOf(event), event);
  }, { signal });
  addEventListener("pointerup", () => {
    const chosen = target;
    if (!isHeld()) return listening.abort();
    letGo();
    chosen?.act();
  }, { signal });
  addEventListener("pointercancel", letGo, { signal });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !isHeld()) return;
    event.preventDefault();
    event.stopPropagation();
    letGo();
  }, { signal, capture: true });
}

/**
 * What letting go there does; null for nothing.
 * @param {HTMLElement} bubble
 * @param {PointerEvent} event
 * @param {import("./topic-deeds.js").TopicDeeds} deeds
 * @returns {Target}
 */
function targetAt(bubble, { clientX, clientY }, deeds) {
  const below = document.elementFromPoint(clientX, clientY);
  const label = inputOf(bubble).value;
  const name = visible(label);
  const other = below?.closest(".bubble:not([data-leaving])");
  if (other && other !== bubble) {
    const into = inputOf(other).value;
    return { place: other, words: `Merge into ${visible(into)}`, act: () => deeds.merge([label], into) };
  }
  const box = below?.closest(".composer-box");
  if (box) return { place: box, words: `Send messages on ${name}`, act: () => deeds.pick(label) };
  const chat = /** @type {HTMLElement | null | undefined} */ (below?.closest(".chat-entry"));
  if (chat) {
    const title = chat.querySelector(".chat-title")?.textContent ?? "";
    const id = chat.dataset.chatId ?? "";
    if (id === document.body.dataset.chatId) return null;
    return { place: chat, words: `Recall ${name} in “${title}”`, act: () => deeds.recallIn([label], { id, title }) };
  }
  if (!below || below.closest(".cloud")) return null;
  return { place: null, words: `Mute ${name}: never send it`, act: () => deeds.mute([label]) };
}

/**
 * Messages let go on a bubble are about its topic.
 * @param {readonly string[]} ids
 * @param {PointerEvent} event
 * @param {import("./topic-deeds.js").TopicDeeds} deeds
 * @returns {Target}
 */
function topicAt(ids, { clientX, clientY }, deeds) {
  const bubble = document.elementFromPoint(clientX, clientY)?.closest(".bubble:not([data-leaving])");
  if (!bubble) return null;
  const label = inputOf(bubble).value;
  return { place: bubble, words: `About ${visible(label)}`, act: () => deeds.assignTo(ids, label) };
}
