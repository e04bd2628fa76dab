// @ts-check
/** An answer while it is being written: its text as it comes, once a frame. */

import { hasGap, NO_PIECES, withPiece } from "./pieces.js";
import { visible } from "../lib/text.js";

export class LiveAnswer {
  #pieces = NO_PIECES;
  #isDue = false;
  #text = document.createTextNode("");
  #shown = 0;
  #message;

  /** @param {HTMLElement} message  The message's element; its body is replaced by the text. */
  constructor(message) {
    this.#message = message;
    message.dataset.live = "";
    message.toggleAttribute("data-generating", true);
  }

  /** Adds a piece; says whether one before it is missing. @param {number} offset @param {string} text */
  add(offset, text) {
    this.#pieces = withPiece(this.#pieces, offset, text);
    if (!this.#isDue) {
      this.#isDue = true;
      requestAnimationFrame(() => this.#show());
    }
    return hasGap(this.#pieces);
  }

  #show() {
    this.#isDue = false;
    const { text } = this.#pieces;
    if (!text) return;
    if (!this.#text.isConnected) {
      const live = document.createElement("div");
      live.className = "live-text";
      live.dir = "auto";
      live.append(this.#text);
      this.#message.querySelector(".body")?.replaceChildren(live);
    }
    this.#text.appendData(visible(text.slice(this.#shown)));
    this.#shown = text.length;
  }
}
