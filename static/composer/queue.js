// @ts-check
/** Messages that wait until the answer before them is written: shown, and removable. */

import { clone } from "../lib/from-template.js";
import { visible } from "../lib/text.js";

/** @typedef {{ text: string, attached: readonly import("./attached.js").Attached[] }} Waiting */

export class Queue {
  #list;
  #changed;
  /** @type {Waiting[]} */
  #waiting = [];

  /** @param {HTMLElement} list  Shows them; with a template for one. @param {() => void} changed  Called when the user removed one. */
  constructor(list, changed) {
    this.#list = list;
    this.#changed = changed;
  }

  start() {
    this.#list.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("button") : null;
      const place = [...this.#list.querySelectorAll("button")].indexOf(/** @type {HTMLButtonElement} */ (pressed));
      if (place < 0) return;
      this.#waiting.splice(place, 1);
      this.#show();
      this.#changed();
    });
  }

  get texts() {
    return this.#waiting.map(({ text }) => text);
  }

  /** @param {Waiting} message */
  add(message) {
    this.#waiting.push(message);
    this.#show();
  }

  /** Removes the oldest. @returns {Waiting | undefined} */
  next() {
    const first = this.#waiting.shift();
    if (first) this.#show();
    return first;
  }

  /** Removes all. */
  takeAll() {
    const all = this.#waiting.splice(0);
    this.#show();
    return all;
  }

  #show() {
    const rows = this.#waiting.map(({ text, attached }) => {
      const row = clone("queued-template");
      const words = visible([text, ...attached.map(({ name }) => `📎 ${name}`)].join(" "));
      /** @type {HTMLElement} */ (row.querySelector(".queued-text")).textContent = words;
      return row;
    });
    this.#list.replaceChildren(...rows);
    this.#list.hidden = !rows.length;
  }
}
