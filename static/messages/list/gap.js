// @ts-check
/** A line in the place of older messages that are not on the page, between those far up and the rest. */

import { messagesIn } from "../../lib/reconcile.js";
import { messagesCounted, numbered } from "../../lib/text.js";

export class Gap {
  /** The number of messages of the chat before the first one below the line. */
  end;
  element = document.createElement("button");
  /** @type {HTMLElement | undefined} */
  #marked;

  /**
   * @param {number} end
   * @param {() => void} onOpen  Called when the reader wants more of them.
   */
  constructor(end, onOpen) {
    this.end = end;
    this.element.type = "button";
    this.element.className = "fold";
    this.element.dataset.gap = "";
    this.element.addEventListener("click", onOpen);
  }

  /** @param {number} count  Of the messages that are not on the page; 0 removes the line. */
  show(count) {
    this.element.dataset.gap = String(count);
    tellSent(this.element, 0);
    this.mark();
    if (!count) this.remove();
  }

  get count() {
    return Number(this.element.dataset.gap);
  }

  /** The first message below it. @returns {HTMLElement | undefined} */
  get below() {
    const next = this.element.nextElementSibling;
    return next ? messagesIn(next)[0] : undefined;
  }

  /** Marks the message below it, at which a run of messages that are not sent begins; call it when that may be another. */
  mark() {
    if (this.#marked === this.below) return;
    delete this.#marked?.dataset.afterGap;
    this.#marked = this.below;
    if (this.#marked) this.#marked.dataset.afterGap = "";
  }

  /** What is above it on the page. @returns {Element[]} */
  get above() {
    const found = [];
    for (let one = this.element.previousElementSibling; one?.classList.contains("chunk"); one = one.previousElementSibling) found.push(one);
    return found;
  }

  remove() {
    delete this.#marked?.dataset.afterGap;
    this.element.remove();
  }
}

/** Says how many messages a gap leaves out, and how many of them are sent. @param {HTMLElement} element @param {number} sent */
export function tellSent(element, sent) {
  const words = `${messagesCounted(Number(element.dataset.gap))} between${sent ? `, ${numbered(sent)} of them sent` : ""} · Show`;
  if (element.textContent !== words) element.textContent = words;
}
