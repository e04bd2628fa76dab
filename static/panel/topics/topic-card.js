// @ts-check
/** What a topic is about, beside its bubble: samples of its messages, dates, tokens. */

import { newest } from "../../lib/newest.js";
import { messagesCounted, numbered, visible } from "../../lib/text.js";
import { costInWords } from "../sends/cost.js";

const HOVER_MS = 250;
const GAP = 12;

/** @typedef {{ messages: number, tokens: number, first: string, last: string, cost: import("../sends/cost.js").Cost, samples: { id: string, text: string }[] }} Facts */

export class TopicCard {
  #card;
  #wire;
  #chatId;
  #wish;
  /** @type {HTMLElement | null} */
  #bubble = null;
  #label = "";

  /** @param {HTMLElement} card @param {import("../../wire.js").Wire} wire @param {string} chatId */
  constructor(card, wire, chatId) {
    this.#card = card;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#wish = newest(HOVER_MS, (/** @type {Facts} */ facts) => this.#fill(facts));
  }

  /** @param {HTMLElement} bubble @param {string} label */
  show(bubble, label) {
    if (!this.#wire.isOpen) return;
    // What is shown of it stays until the news are there.
    if (bubble !== this.#bubble || label !== this.#label) this.hide();
    this.#bubble = bubble;
    this.#label = label;
    this.#wish.ask(() => this.#wire.call("smart_context.describe_topic", { chat_id: this.#chatId, label }));
  }

  hide() {
    this.#wish.forget();
    this.#card.hidden = true;
    this.#bubble?.querySelector("input")?.removeAttribute("aria-describedby");
    this.#bubble = null;
  }

  /** @param {Facts} facts */
  #fill({ messages, tokens, first, last, cost, samples }) {
    const bubble = this.#bubble;
    if (!bubble?.isConnected || !messages) return;
    const [title, about, price, list] = [".card-title strong", ".card-facts", ".card-cost", ".card-samples"].map((selector) => /** @type {HTMLElement} */ (this.#card.querySelector(selector)));
    title.textContent = visible(this.#label);
    this.#card.dataset.hue = bubble.dataset.hue;
    about.textContent = [messagesCounted(messages), between(first, last), `${numbered(tokens)} tokens`].filter(Boolean).join(" · ");
    price.hidden = !cost.price;
    price.textContent = `With this topic alone: ${costInWords(cost)}`;
    list.replaceChildren(
      ...samples.map(({ text }) => {
        const line = document.createElement("li");
        line.dir = "auto";
        line.textContent = visible(text);
        return line;
      }),
    );
    bubble.querySelector("input")?.setAttribute("aria-describedby", this.#card.id);
    this.#card.hidden = false;
    this.#place(bubble.getBoundingClientRect());
  }

  /** Beside the cloud where there is room, else below the bubble. @param {DOMRect} bubble */
  #place(bubble) {
    const cloud = /** @type {Element} */ (this.#card.parentElement).getBoundingClientRect();
    const { width, height } = this.#card.getBoundingClientRect();
    const isBeside = cloud.left - width - 3 * GAP > 0;
    const middle = Math.max(GAP, bubble.left + bubble.width / 2 - width / 2);
    const left = isBeside ? cloud.left - width - 3 * GAP : Math.min(middle, innerWidth - width - GAP);
    const top = isBeside ? bubble.top + bubble.height / 2 - height / 2 : bubble.bottom + GAP;
    this.#card.style.setProperty("left", `${left}px`);
    this.#card.style.setProperty("top", `${Math.min(Math.max(GAP, top), innerHeight - height - GAP)}px`);
  }
}

/** `2 Feb – 12 Mar 2026`; one date when both are the same. @param {string} first @param {string} last */
function between(first, last) {
  const [from, to] = [new Date(first), new Date(last)];
  if (Number.isNaN(from.valueOf()) || Number.isNaN(to.valueOf())) return "";
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).formatRange(from, to);
}
