// @ts-check
/** Finds a text in all messages of the chat, loaded or not, and goes from one to the next. */

import { isComposing } from "../../lib/composing.js";
import { numbered, reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

const QUIET_MS = 150;
const MARK = "found";
const MOST_MARKS = 500;

export class FindInChat {
  #bar;
  #messages;
  #wire;
  #chatId;
  #show;
  /** @type {string[]} */
  #ids = [];
  #at = -1;
  #isMarking = false;
  /** @type {HTMLElement | null} */
  #before = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {HTMLElement} bar
   * @param {HTMLElement} messages  What is drawn, where words are marked.
   * @param {import("../../wire.js").Wire} wire
   * @param {string} chatId
   * @param {(id: string) => Promise<unknown>} show  Loads a message and goes to it.
   */
  constructor(bar, messages, wire, chatId, show) {
    this.#bar = bar;
    this.#messages = messages;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#show = show;
  }

  start() {
    addEventListener("keydown", (event) => {
      const isFind = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "f";
      if (!isFind || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      this.open();
    });
    this.#field.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#find().catch((error) => toast(reasonOf(error))), QUIET_MS);
    });
    this.#bar.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Escape") this.#close();
      else if (event.key === "Enter" && event.target === this.#field) this.#step(event.shiftKey ? -1 : 1);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.#bar.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("[data-find]") : null;
      const deed = pressed instanceof HTMLElement ? pressed.dataset.find : "";
      if (deed === "close") this.#close();
      else if (deed) this.#step(deed === "next" ? 1 : -1);
    });
    new MutationObserver(() => this.#markSoon()).observe(this.#messages, { childList: true, subtree: true });
  }

  open() {
    if (this.#bar.hidden) this.#before = /** @type {HTMLElement | null} */ (document.activeElement);
    this.#bar.hidden = false;
    const chosen = String(getSelection() ?? "").trim();
    if (chosen && chosen.length < 100 && !chosen.includes("\n")) this.#field.value = chosen;
    this.#field.select();
    this.#find().catch((error) => toast(reasonOf(error)));
  }

  async #find() {
    const query = this.#field.value;
    const { message_ids: ids } = query.trim()
      ? await this.#wire.call("memory.find", { chat_id: this.#chatId, query })
      : { message_ids: [] };
    if (query !== this.#field.value) return;
    const here = this.#ids[this.#at];
    this.#ids = ids;
    // The newest first: what one looks for is mostly not long ago.
    this.#at = here && ids.includes(here) ? ids.indexOf(here) : ids.length - 1;
    this.#markSoon();
    await this.#go();
  }

  /** @param {number} by */
  #step(by) {
    if (!this.#ids.length) return;
    this.#at = (this.#at + by + this.#ids.length) % this.#ids.length;
    this.#go().catch((error) => toast(reasonOf(error)));
  }

  async #go() {
    const count = /** @type {HTMLElement} */ (this.#bar.querySelector(".find-count"));
    const all = this.#ids.length;
    count.textContent = all ? `${numbered(this.#at + 1)} of ${numbered(all)}` : this.#field.value.trim() && "No matches";
    for (const button of this.#bar.querySelectorAll("[data-find=previous], [data-find=next]")) button.toggleAttribute("disabled", !all);
    const id = this.#ids[this.#at];
    if (id) await this.#show(id);
  }

  #close() {
    clearTimeout(this.#timer);
    this.#bar.hidden = true;
    CSS.highlights?.delete(MARK);
    this.#before?.focus();
  }

  #markSoon() {
    if (this.#isMarking || this.#bar.hidden || !globalThis.Highlight) return;
    this.#isMarking = true;
    requestAnimationFrame(() => {
      this.#isMarking = false;
      if (!this.#bar.hidden) this.#mark();
    });
  }

  /** Marks the words in what is drawn, without touching the messages. */
  #mark() {
    const wanted = this.#field.value.trim().toLowerCase();
    /** @type {Range[]} */
    const ranges = [];
    if (wanted) {
      const walker = document.createTreeWalker(this.#messages, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node && ranges.length < MOST_MARKS; node = walker.nextNode()) {
        if (!node.parentElement?.closest(".body")) continue;
        const text = (node.nodeValue ?? "").toLowerCase();
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
          if (at + wanted.length > (node.nodeValue ?? "").length) break;
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + wanted.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set(MARK, new Highlight(...ranges));
  }

  get #field() {
    return /** @type {HTMLInputElement} */ (this.#bar.querySelector("input"));
  }
}
