// @ts-check
/** The sheet that lists topics beside the map; the map shows which of them the pointer or the focus is on. */

import { showRows } from "./topic-list.js";
import { SHOWN } from "./zoom.js";

export class RowsSheet {
  #root;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  start() {
    for (const event of ["pointerover", "focusin"]) {
      this.#root.addEventListener(event, ({ target }) => point(target instanceof Element ? target.closest(".topic-row") : null));
    }
    for (const event of ["pointerleave", "focusout"]) this.#root.addEventListener(event, () => point(null));
  }

  /** @param {readonly import("./atlas.js").Topic[]} topics  The first ones first; without any there is no sheet. @param {import("./atlas.js").Place} place */
  show(topics, place) {
    this.#root.hidden = !topics.length;
    if (!topics.length) return;
    const [title, rows] = /** @type {HTMLElement[]} */ ([...this.#root.querySelectorAll("h2, ul")]);
    title.textContent = place.query ? "Best first" : "Largest first";
    showRows(rows, topics, place);
  }
}

/** Shows on the map which bubble a row is about. @param {Element | null} row */
function point(row) {
  for (const bubble of document.querySelectorAll("[data-pointed]")) bubble.removeAttribute("data-pointed");
  const id = row instanceof HTMLElement ? row.dataset.topic : undefined;
  if (id) document.querySelector(`${SHOWN} .bubble[data-topic="${CSS.escape(id)}"]`)?.setAttribute("data-pointed", "");
}
