// @ts-check
/** Where the next message is written, sent and stopped. */

import { recall, remember } from "./memory.js";
import { reasonOf } from "./text.js";

/** @typedef {{ send: (text: string) => Promise<unknown>, stop: () => Promise<unknown> }} Deeds */

export class Composer {
  #form;
  #box;
  #deeds;
  #draftKey;
  #isAnswering = false;
  #isSending = false;

  /** @param {HTMLFormElement} form @param {string} chatId @param {Deeds} deeds */
  constructor(form, chatId, deeds) {
    this.#form = form;
    this.#box = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
    this.#deeds = deeds;
    this.#draftKey = `draft:${chatId}`;
  }

  /** Listens to the user, with what was written before a reload. */
  start() {
    this.#box.value ||= recall("sessionStorage", this.#draftKey);
    this.#box.addEventListener("input", () => {
      this.#find(".composer-problem").hidden = true;
      this.#show();
    });
    this.#box.addEventListener("keydown", (event) => {
      // While an input method composes, Enter chooses characters and does not send.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#find(".stop").addEventListener("click", () => this.#attempt(this.#deeds.stop));
    this.#show();
  }

  /** Whether an answer is being written: then it can be stopped. @param {boolean} isAnswering */
  setAnswering(isAnswering) {
    this.#isAnswering = isAnswering;
    this.#show();
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  async #send() {
    const text = this.#box.value;
    if (!text.trim() || this.#isAnswering || this.#isSending) return;
    this.#isSending = true;
    this.#box.value = "";
    this.#show();
    const kept = await this.#attempt(() => this.#deeds.send(text));
    this.#isSending = false;
    // What the server never had goes back to where it was written.
    if (!kept && !this.#box.value) this.#box.value = text;
    this.#show();
  }

  /** @param {() => Promise<unknown>} deed */
  async #attempt(deed) {
    const problem = this.#find(".composer-problem");
    problem.hidden = true;
    try {
      await deed();
      return true;
    } catch (error) {
      problem.textContent = reasonOf(error);
      problem.hidden = false;
      return false;
    }
  }

  #show() {
    const box = this.#box;
    remember("sessionStorage", this.#draftKey, box.value);
    box.style.setProperty("--rows-height", "auto");
    box.style.setProperty("--rows-height", `${box.scrollHeight}px`);
    const isBusy = this.#isAnswering || this.#isSending;
    this.#find(".stop").hidden = !isBusy;
    const send = /** @type {HTMLButtonElement} */ (this.#find(".send"));
    send.hidden = isBusy;
    send.disabled = !box.value.trim();
  }

  /** @param {string} selector */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.#form.querySelector(selector));
  }
}
