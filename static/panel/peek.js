// @ts-check
/** Tells what a choice would change before it is made, here and on the messages. */

import { newest } from "../lib/newest.js";
import { changeInWords } from "./parts.js";
import { visible } from "../lib/text.js";

const HOVER_MS = 90;

/** @typedef {{ words: string, params: Record<string, unknown> }} Question */

export class Peek {
  #line;
  #wire;
  #chatId;
  #wish;
  #words = "";

  /**
   * @param {HTMLElement} line  Where the words go.
   * @param {import("../wire.js").Wire} wire
   * @param {string} chatId
   */
  constructor(line, wire, chatId) {
    this.#line = line;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#wish = newest(HOVER_MS, (/** @type {any} */ news) => this.#show(news.change), () => this.end());
  }

  /** What would change, in words and on the messages. @param {Question} question */
  ask({ words, params }) {
    if (!this.#wire.isOpen) return;
    this.#words = words;
    this.#wish.ask(() => this.#wire.call("smart_context.preview", { chat_id: this.#chatId, brief: true, ...params }));
  }

  /** Nothing is considered any longer. */
  end() {
    this.#wish.forget();
    this.#line.replaceChildren();
    mark([], []);
  }

  /** @param {any} change */
  #show(change) {
    const words = [`${this.#words}:`, " ", changeInWords(change)];
    this.#line.replaceChildren(...words.map(piece));
    mark(change.added, change.removed);
  }
}

/**
 * Peeks at what picking a bubble changes, while it is hovered or focused.
 * @param {HTMLElement} cloud
 * @param {Peek} peek
 * @param {() => readonly string[]} picked
 */
export function peekAtBubbles(cloud, peek, picked) {
  /** @type {Element | null} */
  let over = null;
  /** @param {Event} event */
  const look = (event) => {
    const bubble = event.target instanceof Element ? event.target.closest(".bubble") : null;
    if (!bubble || bubble === over || bubble.matches(":disabled *")) return;
    over = bubble;
    ask(bubble);
  };
  /** @param {Event} event */
  const leave = (event) => {
    const next = /** @type {PointerEvent | FocusEvent} */ (event).relatedTarget;
    if (!over || (next instanceof Node && over.contains(next))) return;
    over = null;
    peek.end();
  };
  /** @param {Element} bubble */
  const ask = (bubble) => {
    const label = bubble.querySelector("input")?.value ?? "";
    const now = picked();
    const isPicked = now.includes(label);
    const topics = isPicked ? now.filter((one) => one !== label) : [...now, label];
    peek.ask({ words: `${isPicked ? "Without " : ""}${visible(label)}`, params: { topics } });
  };
  cloud.addEventListener("pointerover", look);
  cloud.addEventListener("focusin", look);
  cloud.addEventListener("pointerout", leave);
  cloud.addEventListener("focusout", leave);
  document.addEventListener("panel-changed", () => over?.isConnected && ask(over));
}

/** @param {string} text */
function piece(text) {
  if (!text.trim()) return document.createTextNode(text);
  const span = document.createElement("span");
  span.textContent = text;
  return span;
}

/** @param {readonly string[]} added @param {readonly string[]} removed */
function mark(added, removed) {
  for (const message of document.querySelectorAll("[data-would]")) message.removeAttribute("data-would");
  for (const [ids, would] of /** @type {const} */ ([[added, "come"], [removed, "go"]])) {
    for (const id of ids) document.getElementById(`m-${id}`)?.setAttribute("data-would", would);
  }
}
