// @ts-check
/** Messages that wait until the answer before them is written: shown, and removable. They are there again when a page is opened. */

import { asText, fromText } from "./attached.js";
import { clone } from "../lib/from-template.js";
import { recall, remember } from "../lib/memory.js";
import { keepOnly } from "../lib/reconcile.js";
import { visible } from "../lib/text.js";

/** @typedef {{ text: string, attached: readonly import("./attached.js").Attached[], isOffPick?: boolean }} Waiting  `isOffPick`: it belongs to none of the picked topics. */

/** @param {string} text @returns {Waiting[]}  None if the text is not valid. */
function waitingIn(text) {
  try {
    const kept = JSON.parse(text);
    if (!Array.isArray(kept)) return [];
    return kept
      .filter((one) => typeof one?.text === "string")
      .map((one) => ({ text: one.text, isOffPick: one.isOffPick === true, attached: fromText(String(one.attached)).map((file, id) => ({ ...file, id: -1 - id, state: "ready" })) }));
  } catch {
    return [];
  }
}

/** @param {readonly Waiting[]} waiting  None: empty. */
function asStored(waiting) {
  return waiting.length ? JSON.stringify(waiting.map(({ text, attached, isOffPick }) => ({ text, attached: asText(attached), isOffPick }))) : "";
}

/** @param {Waiting} message */
function rowOf({ text, attached }) {
  const row = clone("queued-template");
  const words = visible([text, ...attached.map(({ name }) => `📎 ${name}`)].join(" "));
  /** @type {HTMLElement} */ (row.querySelector(".queued-text")).textContent = words;
  return row;
}

export class Queue {
  #list;
  #key;
  #changed;
  /** @type {Waiting[]} */
  #waiting = [];
  /** @type {WeakMap<Waiting, HTMLElement>} */
  #rows = new WeakMap();
  #isHeld = false;

  /**
   * @param {HTMLElement} list  Shows them; with a template for one.
   * @param {string} key  Where they are kept when the page is left.
   * @param {() => void} changed  Called when the user removed one, or sends those that were left.
   */
  constructor(list, key, changed) {
    this.#list = list;
    this.#key = key;
    this.#changed = changed;
  }

  /** Starts listening, with what waited when the chat was left. */
  start() {
    this.#list.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("button") : null;
      const place = [...this.#list.children].indexOf(/** @type {Element} */ (pressed?.closest("li")));
      if (place < 0) return;
      if (pressed?.classList.contains("queued-send")) this.#isHeld = false;
      else this.#waiting.splice(place, 1);
      this.#show();
      this.#changed();
    });
    // A page that is shown again has its own, and one that is left gives them to the next.
    addEventListener("pagehide", () => this.#leave());
    addEventListener("pageshow", (event) => event.persisted && this.#takeLeft());
    this.#takeLeft();
  }

  /** @param {Waiting} message */
  add(message) {
    this.#waiting.push(message);
    this.#show();
  }

  /** Lets those that were left be sent after the answer before them, which is still being written. */
  goOn() {
    this.#isHeld = false;
    this.#show();
  }

  /** Removes the oldest; none while they wait for the user's word. @returns {Waiting | undefined} */
  next() {
    if (this.#isHeld) return undefined;
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

  /** Leaves them to the next page, after those of another tab that was left. */
  #leave() {
    const left = [...waitingIn(recall("localStorage", this.#key)), ...this.#waiting];
    remember("localStorage", this.#key, asStored(left));
    this.#waiting = [];
    this.#show();
    this.#changed();
  }

  /** Takes over what a page left, or had when its browser died. */
  #takeLeft() {
    for (const place of /** @type {const} */ (["sessionStorage", "localStorage"])) {
      this.#waiting.unshift(...waitingIn(recall(place, this.#key)));
      remember(place, this.#key, "");
    }
    this.#isHeld = this.#waiting.length > 0;
    this.#show();
  }

  #show() {
    remember("sessionStorage", this.#key, asStored(this.#waiting));
    this.#isHeld &&= this.#waiting.length > 0;
    const when = this.#isHeld ? "Not sent yet" : "Sent after this answer";
    const rows = this.#waiting.map((message, place) => {
      const row = this.#rows.get(message) ?? rowOf(message);
      this.#rows.set(message, row);
      /** @type {HTMLElement} */ (row.querySelector(".queued-when")).textContent = place ? "" : when;
      /** @type {HTMLElement} */ (row.querySelector(".queued-send")).hidden = !this.#isHeld || place > 0;
      return row;
    });
    keepOnly(this.#list, rows);
    this.#list.ariaLabel = when;
    this.#list.hidden = !rows.length;
  }
}
