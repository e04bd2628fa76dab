// @ts-check
/** Says of each message on the screen whether it is in or out, and why, where one looks for it. */

import { counted } from "../../lib/text.js";
import { newest } from "../../lib/newest.js";
import { messagesIn } from "../../lib/reconcile.js";

const SETTLE_MS = 150;
const NEAR = "400px";

/** @typedef {{ in: boolean, kind: string, short: string, tokens: number }} Told */

export class Reasons {
  #list;
  #wire;
  #chatId;
  /** @type {Map<string, Told>} */
  #known = new Map();
  /** @type {Set<HTMLElement>} */
  #near = new Set();
  /** The messages that say why. @type {Set<HTMLElement>} */
  #saying = new Set();
  #observer;
  /** Of older messages only those in a chunk that is near are looked at: each costs every frame. */
  #chunks;
  #wish;

  /** @param {HTMLElement} list  Holds the messages. @param {import("../../wire.js").Wire} wire @param {string} chatId */
  constructor(list, wire, chatId) {
    this.#list = list;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#observer = new IntersectionObserver((entries) => this.#moved(entries), { rootMargin: NEAR });
    this.#chunks = new IntersectionObserver((entries) => this.#chunksMoved(entries), { rootMargin: NEAR });
    this.#wish = newest(SETTLE_MS, (/** @type {any} */ news) => {
      for (const [id, told] of Object.entries(news.reasons)) this.#known.set(id, told);
      for (const message of this.#near) this.#show(message);
    });
  }

  start() {
    this.watch(messagesIn(this.#list));
    document.addEventListener("panel-changed", () => this.#forget());
    this.#wire.onStatus((status) => status === "open" && this.#forget());
  }

  /** Handles messages that are new on the page. @param {readonly HTMLElement[]} messages */
  watch(messages) {
    for (const message of messages) {
      const chunk = message.closest(".chunk");
      if (chunk) this.#chunks.observe(chunk);
      else this.#observer.observe(message);
    }
  }

  /** What is out of sight says nothing until it is looked at again. */
  #forget() {
    this.#known.clear();
    for (const message of this.#saying) {
      if (this.#near.has(message)) continue;
      this.#saying.delete(message);
      const why = message.querySelector(".why");
      if (!why) continue;
      why.textContent = "";
      why.removeAttribute("title");
      delete message.dataset.why;
    }
    this.#ask();
  }

  /** @param {readonly IntersectionObserverEntry[]} entries */
  #chunksMoved(entries) {
    for (const { target: chunk, isIntersecting } of entries) {
      for (const message of messagesIn(chunk)) {
        if (isIntersecting) this.#observer.observe(message);
        else this.#observer.unobserve(message);
        if (!isIntersecting) this.#near.delete(message);
      }
      if (!chunk.isConnected) this.#chunks.unobserve(chunk);
    }
  }

  /** @param {readonly IntersectionObserverEntry[]} entries */
  #moved(entries) {
    for (const { target, isIntersecting } of entries) {
      const message = /** @type {HTMLElement} */ (target);
      if (isIntersecting) this.#near.add(message);
      else this.#near.delete(message);
      if (isIntersecting) this.#show(message);
      if (!message.isConnected) this.#observer.unobserve(message);
    }
    this.#ask();
  }

  #ask() {
    if (!this.#wire.isOpen || !this.#unknown().length) return;
    this.#wish.ask(() => this.#wire.call("smart_context.reasons", { chat_id: this.#chatId, message_ids: this.#unknown() }));
  }

  #unknown() {
    const ids = [...this.#near].map((message) => message.dataset.messageId ?? "");
    return ids.filter((id) => id && !this.#known.has(id));
  }

  /** @param {HTMLElement} message */
  #show(message) {
    const id = message.dataset.messageId ?? "";
    const told = this.#known.get(id);
    const why = message.querySelector(".why");
    if (!told || !why) return;
    message.dataset.why = told.in ? told.kind : "";
    message.dataset.mark = told.kind === "pinned" ? "pinned" : told.in ? "in" : "out";
    const tokens = counted(told.tokens, "token");
    // A notice says so itself.
    const words = message.querySelector(".never-sent") ? tokens : `${told.short} · ${tokens}`;
    if (why.textContent !== words) why.textContent = words;
    why.setAttribute("title", words);
    this.#saying.add(message);
    message.querySelector(".actions")?.setAttribute("aria-describedby", why.id);
  }
}
