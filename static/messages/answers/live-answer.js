// @ts-check
/**
 * An answer while it is being written. The server renders it as it does stored messages, but only
 * what may still change: the blocks that are complete stay as they are.
 */

import { postForFragment } from "../../lib/fragments.js";
import { clone } from "../../lib/from-template.js";
import { visible } from "../../lib/text.js";
import { cutAt, LONGEST_PART, withoutBegunTable } from "./live-blocks.js";
import { hasGap, NO_PIECES, withPiece } from "./pieces.js";

const PAUSE_MS = 40;

export class LiveAnswer {
  #pieces = NO_PIECES;
  #message;
  #prose = document.createElement("div");
  /** What the model thinks before it answers; the stored message has it, too. @type {HTMLElement | null} */
  #thoughts = null;
  /** How much of the text is final, and how many elements show it. */
  #settled = 0;
  #elements = 0;
  /** Where the text begins that is shown; what is before it was thought. */
  #from = 0;
  /** Characters that were thought, and may still be on their way. @type {{ since: number, until: number } | null} */
  #takenBack = null;
  /** The code block that is being written; it grows without asking the server. */
  #code = { at: -1, shown: 0 };
  #isBusy = false;
  #isDue = false;

  /** @param {HTMLElement} message  The message's element; its body is replaced by the answer. */
  constructor(message) {
    this.#message = message;
    this.#prose.className = "prose";
    message.dataset.live = "";
    message.toggleAttribute("data-generating", true);
  }

  /** Adds a piece; true if an earlier one is missing. @param {number} offset @param {string} text */
  add(offset, text) {
    this.#pieces = withPiece(this.#pieces, offset, text);
    this.#moveThought();
    this.#isDue = true;
    if (text) this.#hears();
    // A notice of the program comes at once, and is stored in words for clients.
    if (!this.#isBusy && !("extracted" in this.#message.dataset)) this.#showAll();
    return hasGap(this.#pieces);
  }

  /** Adds a piece of what the model thinks before it answers. @param {string} text */
  think(text) {
    this.#thoughts ??= clone("thoughts-template");
    this.#thoughts.querySelector(".prose")?.append(visible(text));
    this.#hears();
    this.#message.dataset.thinks = "";
    if (!this.#thoughts.isConnected) this.#message.querySelector(".body")?.replaceChildren(this.#thoughts);
  }

  /** Something of the answer has come: the request is read. */
  #hears() {
    this.#message.dataset.heard = String(Date.now());
    delete this.#message.dataset.reads;
  }

  /**
   * The model reads the request.
   * @param {number} tokens  Those that it has to read.
   * @param {number | null} percent  How many of them it has read; null if its server does not say.
   * @param {number} begun  When it began, in ms, as `Date.now()`.
   */
  read(tokens, percent, begun) {
    Object.assign(this.#message.dataset, { reads: JSON.stringify({ tokens, percent }), heard: String(begun) });
  }

  /** What came from `since` to `until` was thought, not said. @param {number} since @param {number} until */
  takeBack(since, until) {
    this.#takenBack = { since, until };
    this.#moveThought();
  }

  /** Moves what was taken back to the thoughts, once all of it has arrived. */
  #moveThought() {
    if (!this.#takenBack || this.#pieces.length < this.#takenBack.until) return;
    const { since, until } = this.#takenBack;
    this.#takenBack = null;
    const said = [...this.#pieces.text].slice(0, until).join("");
    this.#settled = this.#from = said.length;
    this.#elements = 0;
    this.#code = { at: -1, shown: 0 };
    this.#prose.replaceChildren();
    this.#prose.remove();
    this.think([...said].slice(since).join(""));
  }

  /** The model is busy, and is asked again at this time. @param {number} until  In ms, as `Date.now()`. */
  hold(until) {
    this.#message.dataset.againAt = String(until);
  }

  /** False once the stored text has taken its place. */
  get #isOpen() {
    return this.#message.isConnected && "live" in this.#message.dataset;
  }

  async #showAll() {
    this.#isBusy = true;
    try {
      while (this.#isDue && this.#isOpen) {
        this.#isDue = false;
        await this.#show();
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      // The next piece tries again, and the finished answer replaces everything.
    } finally {
      this.#isBusy = false;
    }
  }

  async #show() {
    const { text } = this.#pieces;
    const from = this.#from;
    delete this.#message.dataset.thinks;
    const { settled, code } = cutAt(text, this.#settled);
    if (code && this.#code.at === settled) {
      this.#growCode(text);
      return;
    }
    const tail = text.slice(settled, settled + LONGEST_PART);
    const parts = [text.slice(this.#settled, settled), code ? tail : withoutBegunTable(tail)];
    if (!parts.join("").trim()) return;
    const rendered = await postForFragment("/markdown", parts);
    if (!this.#isOpen || from !== this.#from) return;
    const [complete, open] = [...rendered.children].map((part) => [...part.childNodes]);
    this.#replaceTail([...complete, ...open]);
    this.#settled = settled;
    this.#elements += complete.length;
    this.#code = code ? { at: settled, shown: settled + tail.length } : { at: -1, shown: 0 };
    if (settled + tail.length < text.length) this.#isDue = true;
  }

  /** @param {string} text */
  #growCode(text) {
    const code = [...this.#prose.querySelectorAll("pre code")].at(-1);
    code?.append(visible(text.slice(this.#code.shown)));
    this.#code.shown = text.length;
  }

  /** Replaces what changed; equal elements stay, and with them the user's selection. @param {Node[]} fresh */
  #replaceTail(fresh) {
    if (!this.#prose.isConnected) this.#message.querySelector(".body")?.replaceChildren(...(this.#thoughts ? [this.#thoughts] : []), this.#prose);
    const old = [...this.#prose.childNodes].slice(this.#elements);
    let same = 0;
    while (same < Math.min(old.length, fresh.length) && old[same].isEqualNode(fresh[same])) same += 1;
    for (const node of old.slice(same)) node.remove();
    this.#prose.append(...fresh.slice(same));
  }
}
