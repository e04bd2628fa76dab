// @ts-check
/** What an answer knew: a strip below it in the colours of the topics that it was sent, and what it took. */

import { about } from "../panel/sends/cost.js";
import { messagesCounted, visible } from "../lib/text.js";

/** @typedef {import("../messages/reading/map-rows.js").TopicMap} TopicMap */
/**
 * @typedef {object} Knew
 * @property {readonly [string, number][]} sent  Messages and their tokens.
 * @property {number} total
 * @property {string} model
 * @property {number | null} seconds
 * @property {number | null} price
 * @property {string} currency
 */

/** What quotes passages in a model's place. */
const WITHOUT_MODEL = "embedded/passages";

/** Fired with the ids of messages to light up on the map; with none when that is over. */
export const LIGHT = "light-up";
/** Fired by the map when it knows where the topics are. */
export const MAPPED = "topics-mapped";

export class WhatItKnew {
  #wire;
  #chatId;
  /** @type {Map<string, Knew>} */
  #known = new Map();
  /** @type {Map<string, string>} */
  #topicOf = new Map();
  /** @type {ReadonlyMap<string, string>} */
  #hues = new Map();
  #near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      this.#near.unobserve(target);
      this.#ask(/** @type {HTMLElement} */ (target));
    }
  });

  /** @param {import("../wire.js").Wire} wire @param {string} chatId */
  constructor(wire, chatId) {
    this.#wire = wire;
    this.#chatId = chatId;
  }

  /** @param {HTMLElement} list  Holds the messages. */
  start(list) {
    const redraw = () => {
      for (const strip of list.querySelectorAll(".knew")) this.#draw(/** @type {HTMLElement} */ (strip.parentElement));
    };
    document.addEventListener(MAPPED, (event) => {
      this.#topicOf = topicsOf(/** @type {CustomEvent<TopicMap>} */ (event).detail);
      redraw();
    });
    document.addEventListener("panel-changed", (event) => {
      const { hues } = /** @type {CustomEvent} */ (event).detail;
      if (hues === this.#hues) return;
      this.#hues = hues;
      redraw();
    });
    for (const event of ["pointerover", "pointerout", "focusin", "focusout"]) {
      const isOver = event === "pointerover" || event === "focusin";
      list.addEventListener(event, ({ target }) => {
        const answer = target instanceof Element ? target.closest(".knew")?.parentElement : null;
        const known = answer && this.#known.get(answer.dataset.messageId ?? "");
        const detail = isOver && known ? known.sent.map(([id]) => id) : [];
        if (known) document.dispatchEvent(new CustomEvent(LIGHT, { detail }));
      });
    }
  }

  /** Shows it once the answer is in sight. @param {HTMLElement} answer */
  watch(answer) {
    this.#near.observe(answer);
  }

  /** Fails silently: the receipt says the same. @param {HTMLElement} answer */
  async #ask(answer) {
    const id = answer.dataset.messageId ?? "";
    try {
      if (!this.#known.has(id)) this.#known.set(id, await this.#wire.call("smart_context.knew", { chat_id: this.#chatId, message_id: id }));
      this.#draw(answer);
    } catch {
      // Its receipt is gone, or the server is away.
    }
  }

  /** @param {HTMLElement} answer */
  #draw(answer) {
    const known = this.#known.get(answer.dataset.messageId ?? "");
    const link = /** @type {HTMLAnchorElement | null} */ (answer.querySelector("a[data-receipt]"));
    if (!known || !link) return;
    const strip = /** @type {HTMLAnchorElement} */ (answer.querySelector(".knew") ?? document.createElement("a"));
    const parts = partsOf(known.sent, this.#topicOf);
    const words = `It was sent ${messagesCounted(known.sent.length)} of ${known.total}`;
    const topics = parts.filter(({ topic }) => topic).map(({ topic }) => topic).join(", ");
    Object.assign(strip, { className: "knew", href: link.href, tabIndex: -1, title: [words, topics, tookInWords(known)].filter(Boolean).join(" · ") });
    strip.setAttribute("aria-label", strip.title);
    strip.replaceChildren(...parts.map(({ topic, tokens }) => {
      const piece = document.createElement("i");
      piece.style.setProperty("--share", String(tokens));
      const hue = this.#hues.get(topic);
      if (hue !== undefined) piece.dataset.hue = hue;
      return piece;
    }));
    if (!strip.isConnected) answer.append(strip);
    const took = answer.querySelector(".took") ?? document.createElement("span");
    took.className = "took";
    const model = known.model === WITHOUT_MODEL ? "" : known.model;
    took.textContent = [model, tookInWords(known)].filter(Boolean).map(visible).join(" · ");
    if (!took.isConnected) answer.querySelector(".message-head time")?.after(took);
  }
}

/** `4.2 s · ≈ $0.0031`. @param {Knew} knew */
function tookInWords({ seconds, price, currency }) {
  const time = seconds === null ? "" : `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return [time, price === null ? "" : about(price, currency)].filter(Boolean).join(" · ");
}

/**
 * The topics of what was sent, with their tokens, in the order in which they come up.
 * @param {readonly [string, number][]} sent
 * @param {ReadonlyMap<string, string>} topicOf
 */
export function partsOf(sent, topicOf) {
  /** @type {Map<string, number>} */
  const tokens = new Map();
  for (const [id, count] of sent) {
    const topic = topicOf.get(id) ?? "";
    tokens.set(topic, (tokens.get(topic) ?? 0) + count);
  }
  return [...tokens].map(([topic, count]) => ({ topic, tokens: count }));
}

/** The topic of each message. @param {TopicMap} map @returns {Map<string, string>} */
export function topicsOf({ message_ids: ids, topics }) {
  return new Map(topics.flatMap(({ label, places }) => places.map((place) => [ids[place], label])));
}
