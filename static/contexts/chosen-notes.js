// @ts-check
/** The chosen notes, as removable chips. */

import { clone } from "../lib/from-template.js";
import { wordsOf } from "./context-draft.js";
import { visible } from "../lib/text.js";

export class Chosen {
  #list;

  /** @param {HTMLElement} list @param {(key: string) => void} onRemove */
  constructor(list, onRemove) {
    this.#list = list;
    list.addEventListener("click", (event) => {
      const chip = event.target instanceof Element && event.target.closest("button") && event.target.closest("li");
      if (!chip) return;
      const next = chip.nextElementSibling ?? chip.previousElementSibling;
      const key = /** @type {HTMLElement | null} */ (next)?.dataset.key;
      onRemove(/** @type {HTMLElement} */ (chip).dataset.key ?? "");
      const heir = [...list.children].find((other) => /** @type {HTMLElement} */ (other).dataset.key === key);
      (heir?.querySelector("button") ?? document.getElementById("note-search"))?.focus();
    });
  }

  /** @param {readonly string[]} items */
  show(items) {
    const known = new Map([...this.#list.children].map((chip) => [/** @type {HTMLElement} */ (chip).dataset.key, chip]));
    this.#list.replaceChildren(...items.map((key) => known.get(key) ?? chipOf(key)));
    this.#list.hidden = !items.length;
  }
}

/** @param {string} key */
function chipOf(key) {
  const chip = clone("chip-template");
  const { name } = wordsOf(key);
  chip.dataset.key = key;
  chip.title = visible(key);
  /** @type {HTMLElement} */ (chip.querySelector(".chip-name")).textContent = visible(name);
  /** @type {HTMLElement} */ (chip.querySelector(".visually-hidden")).textContent = `Remove ${visible(name)}`;
  return chip;
}
