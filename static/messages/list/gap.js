// @ts-check
/** A line in the place of older messages that are not on the page, between those far up and the rest. */

import { messagesCounted } from "../../lib/text.js";

export class Gap {
  /** The number of messages of the chat before the first one below the line. */
  end;
  element = document.createElement("button");
  #count = 0;
  #below;

  /**
   * @param {HTMLElement} below  The first message below it.
   * @param {number} end
   * @param {() => void} onOpen  Called when the reader wants more of them.
   */
  constructor(below, end, onOpen) {
    this.end = end;
    this.#below = below;
    below.dataset.afterGap = "";
    this.element.type = "button";
    this.element.className = "fold";
    this.element.dataset.gap = "";
    this.element.addEventListener("click", onOpen);
  }

  /** @param {number} count  Of the messages that are not on the page; 0 removes the line. */
  show(count) {
    this.#count = count;
    this.element.textContent = `${messagesCounted(count)} between · Show`;
    if (!count) this.remove();
  }

  get count() {
    return this.#count;
  }

  /** The first message below it. */
  get below() {
    return this.#below;
  }

  /** More is on the page below it. @param {HTMLElement} below  The first of it. @param {number} count */
  moveUp(below, count) {
    delete this.#below.dataset.afterGap;
    this.#below = below;
    below.dataset.afterGap = "";
    this.end -= count;
  }

  /** What is above it on the page. @returns {Element[]} */
  get above() {
    const found = [];
    for (let one = this.element.previousElementSibling; one?.classList.contains("chunk"); one = one.previousElementSibling) found.push(one);
    return found;
  }

  remove() {
    delete this.#below.dataset.afterGap;
    this.element.remove();
  }
}
