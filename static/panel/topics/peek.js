// @ts-check
/** Tells what a choice would change before it is made, here and on the messages. */

import { newest } from "../../lib/newest.js";
import { changeInWords } from "../sends/parts.js";
import { visible } from "../../lib/text.js";

const HOVER_MS = 90;
const LONG_PRESS_MS = 450;

/** @typedef {import("../sends/parts.js").Change} Change */
/** @typedef {{ words: string, params: Record<string, unknown> }} Question */

export class Peek {
  #line;
  #wire;
  #chatId;
  #wish;
  #words = "";

  /**
   * @param {HTMLElement} line  Where the words go.
   * @param {import("../../wire.js").Wire} wire
   * @param {string} chatId
   */
  constructor(line, wire, chatId) {
    this.#line = line;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#wish = newest(HOVER_MS, (/** @type {{ change: Change }} */ news) => this.#show(news.change), () => this.end());
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

  /** @param {Change} change */
  #show(change) {
    const words = [`${this.#words}:`, " ", changeInWords(change)];
    this.#line.replaceChildren(...words.map(piece));
    mark(change.added, change.removed);
  }
}

/**
 * Tells what picking a bubble changes, while the pointer or the focus is on it. Once it is picked
 * nothing is told until the pointer comes again: nobody who has just picked wants to hear what undoing it does.
 * @param {HTMLElement} cloud
 * @param {Peek} peek
 * @param {import("./topic-card.js").TopicCard} card
 * @param {() => readonly string[]} picked
 */
export function peekAtBubbles(cloud, peek, card, picked) {
  /** @type {Element | null} */
  let over = null;
  /** @type {Element | null} */
  let spent = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let press;
  /** @param {EventTarget | null} target */
  const bubbleAt = (target) => (target instanceof Element ? target.closest(".bubble:not([data-leaving])") : null);
  /** @param {Element | null} bubble */
  const enter = (bubble) => {
    if (!bubble || bubble === over || bubble.matches(":disabled *")) return;
    over = bubble;
    if (bubble !== spent) ask(bubble);
  };
  const end = () => {
    over = null;
    spent = null;
    peek.end();
    card.hide();
  };
  /** @param {Event} event */
  const leave = (event) => {
    clearTimeout(press);
    const next = /** @type {PointerEvent | FocusEvent} */ (event).relatedTarget;
    if (over && !(next instanceof Node && over.contains(next))) end();
  };
  /** @param {Element} bubble */
  const ask = (bubble) => {
    const label = bubble.querySelector("input")?.value ?? "";
    const now = picked();
    const isPicked = now.includes(label);
    const topics = isPicked ? now.filter((one) => one !== label) : [...now, label];
    peek.ask({ words: `${isPicked ? "Without " : ""}${visible(label)}`, params: { topics } });
    card.show(/** @type {HTMLElement} */ (bubble), label);
  };
  // A bubble that comes to lie under a pointer at rest, as after a drop, is not asked about.
  cloud.addEventListener("pointermove", (event) => event.pointerType !== "touch" && enter(bubbleAt(event.target)));
  cloud.addEventListener("focusin", (event) => event.target instanceof Element && event.target.matches(":focus-visible") && enter(bubbleAt(event.target)));
  cloud.addEventListener("pointerout", leave);
  cloud.addEventListener("focusout", leave);
  cloud.addEventListener("change", (event) => {
    spent = bubbleAt(event.target);
    peek.end();
    card.hide();
  });
  // A long press looks; the click that ends it picks nothing.
  let isLong = false;
  cloud.addEventListener("pointerdown", (event) => {
    isLong = false;
    if (event.pointerType !== "touch") return;
    press = setTimeout(() => {
      isLong = true;
      enter(bubbleAt(event.target));
    }, LONG_PRESS_MS);
  });
  cloud.addEventListener("pointerup", () => clearTimeout(press));
  cloud.addEventListener("click", (event) => isLong && event.preventDefault(), { capture: true });
  cloud.addEventListener("contextmenu", (event) => isLong && event.preventDefault());
  document.addEventListener("pointerdown", (event) => event.pointerType === "touch" && over && !over.contains(/** @type {Node} */ (event.target)) && end());
  document.addEventListener("panel-changed", () => over?.isConnected && over !== spent && ask(over));
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
