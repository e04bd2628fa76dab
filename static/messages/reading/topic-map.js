// @ts-check
/** The map beside the scroll bar: where the topics are, what is sent, and where the reader is. */

import { reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { LIGHT, MAPPED } from "../../receipts/knew.js";
import { messagesInView } from "../list/messages-in-view.js";
import { rowsOf } from "./map-rows.js";

const ROW_PX = 4;
const SETTLE_MS = 250;
/** Of fewer messages nobody needs a map. */
const LEAST = 10;
const SVG = "http://www.w3.org/2000/svg";

/** @typedef {import("../../cloud/topic-state.js").PanelState} PanelState */
/**
 * @typedef {object} Ways
 * @property {(id: string) => Promise<void>} goTo  Shows a message.
 * @property {(step: 1 | -1) => void} step  Goes to the next message that is sent.
 */

class TopicMap {
  #nav;
  #scroll;
  #wire;
  #chatId;
  #ways;
  /** @type {import("./map-rows.js").TopicMap} */
  #map = { message_ids: [], topics: [] };
  /** @type {import("./map-rows.js").Row[]} */
  #rows = [];
  /** @type {PanelState | null} */
  #state = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #isDue = false;
  /** True if the rows on the page are out of date. */
  #isStale = false;
  /** What an answer knew that is being looked at. @type {ReadonlySet<string>} */
  #lit = new Set();

  /**
   * @param {HTMLElement} nav
   * @param {HTMLElement} scroll
   * @param {import("../../wire.js").Wire} wire
   * @param {string} chatId
   * @param {Ways} ways
   */
  constructor(nav, scroll, wire, chatId, ways) {
    this.#nav = nav;
    this.#scroll = scroll;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#ways = ways;
  }

  start() {
    for (const event of ["memory.chat_changed", "smart_context.topics_updated"]) {
      this.#wire.on(event, ({ chat_id: id }) => id === this.#chatId && this.#soon());
    }
    this.#wire.onStatus((status) => status === "open" && this.#soon());
    document.addEventListener("panel-changed", (event) => {
      this.#state = /** @type {CustomEvent} */ (event).detail;
      this.#draw();
    });
    document.addEventListener(LIGHT, (event) => {
      this.#lit = new Set(/** @type {CustomEvent<string[]>} */ (event).detail);
      this.#light();
    });
    this.#scroll.addEventListener("scroll", () => this.#follow(), { passive: true });
    new ResizeObserver(() => this.#draw()).observe(this.#nav);
    // What grows, folds or opens moves what is in view without a scroll.
    new ResizeObserver(() => this.#follow()).observe(/** @type {Element} */ (this.#scroll.firstElementChild));
    this.#nav.addEventListener("click", (event) => this.#goTo(event.offsetY / this.#nav.clientHeight));
    for (const area of [this.#nav, this.#scroll]) area.addEventListener("keydown", (event) => this.#press(event));
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), SETTLE_MS);
  }

  async #refresh() {
    if (!this.#wire.isOpen) return;
    try {
      this.#map = await this.#wire.call("smart_context.topic_map", { chat_id: this.#chatId });
      this.#draw();
      document.dispatchEvent(new CustomEvent(MAPPED, { detail: this.#map }));
    } catch (error) {
      toast(`Couldn’t draw the map: ${reasonOf(error)}`);
    }
  }

  /** Draws in the next frame: marking the messages measures the page first, which changed rows would slow down. */
  #draw() {
    this.#isStale = true;
    this.#follow();
  }

  #drawRows() {
    this.#isStale = false;
    const state = this.#state;
    const sent = state?.messageIds ? new Set(state.messageIds) : null;
    this.#rows = rowsOf(this.#map, Math.floor(this.#nav.clientHeight / ROW_PX), sent, state?.keptBy ?? new Map());
    const svg = /** @type {SVGElement} */ (this.#nav.querySelector("svg"));
    svg.setAttribute("viewBox", `0 0 1 ${Math.max(this.#rows.length, 1)}`);
    const hues = state?.hues;
    this.#nav.toggleAttribute("data-bare", this.#map.message_ids.length < LEAST || !this.#map.topics.length);
    while (svg.children.length > this.#rows.length) svg.lastElementChild?.remove();
    for (const [at, row] of this.#rows.entries()) {
      show(/** @type {SVGElement} */ (svg.children[at] ?? svg.appendChild(rectAt(at))), row, hues?.get(row.topic));
    }
  }

  /** Lights up the rows of what an answer knew. */
  #light() {
    this.#nav.toggleAttribute("data-lights", this.#lit.size > 0);
    const ids = this.#map.message_ids;
    const [rows, size] = [this.#nav.querySelectorAll("rect"), this.#rows[0]?.count ?? 1];
    for (const [at, shape] of rows.entries()) {
      shape.toggleAttribute("data-lit", ids.slice(at * size, (at + 1) * size).some((id) => this.#lit.has(id)));
    }
  }

  /** Shows where the reader is, and what is new, once a frame. */
  #follow() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      if (this.#isStale) this.#drawRows();
      const ids = this.#map.message_ids;
      const seen = new Map(messagesInView(this.#scroll).map(({ message }) => [message.dataset.messageId ?? "", message]));
      const first = ids.findIndex((id) => seen.has(id));
      const last = ids.findLastIndex((id) => seen.has(id));
      const { style } = /** @type {HTMLElement} */ (this.#nav.querySelector(".map-view"));
      if (first < 0) return;
      const view = this.#scroll.getBoundingClientRect();
      const top = first + shareAbove(seen.get(ids[first]), view.top);
      const bottom = last + shareAbove(seen.get(ids[last]), view.bottom);
      style.setProperty("--view-top", `${(100 * top) / ids.length}%`);
      style.setProperty("--view-height", `${(100 * (bottom - top)) / ids.length}%`);
    });
  }

  /** @param {number} part  How far down the map. */
  #goTo(part) {
    const row = this.#rows[Math.min(Math.max(Math.floor(part * this.#rows.length), 0), this.#rows.length - 1)];
    if (row) this.#ways.goTo(this.#map.message_ids[row.first]).catch((error) => toast(reasonOf(error)));
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const isPlain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
    if (!isPlain || event.target !== event.currentTarget) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const isFiltered = this.#nav.closest("[data-filtered]") !== null;
    if (!step || !(isFiltered || event.currentTarget === this.#nav)) return;
    event.preventDefault();
    this.#ways.step(step);
  }
}

/** How much of a message is above a line, from 0 to 1. @param {HTMLElement | undefined} message @param {number} line */
function shareAbove(message, line) {
  const { top, height } = /** @type {HTMLElement} */ (message).getBoundingClientRect();
  return Math.min(Math.max((line - top) / (height || 1), 0), 1);
}

/** @param {number} at */
function rectAt(at) {
  const shape = document.createElementNS(SVG, "rect");
  const box = { y: at, width: 1, height: 1.03 };
  for (const [name, value] of Object.entries(box)) shape.setAttribute(name, String(value));
  return shape;
}

/** Updates only the attributes that differ. @param {SVGElement} shape @param {import("./map-rows.js").Row} row @param {string | undefined} hue */
function show(shape, { isSent }, hue) {
  if (hue === undefined) delete shape.dataset.hue;
  else if (shape.dataset.hue !== hue) shape.dataset.hue = hue;
  shape.toggleAttribute("data-sent", isSent);
}

/**
 * @typedef {object} Page
 * @property {import("./scroll.js").Scroll} scroll
 * @property {import("../../wire.js").Wire} wire
 * @property {string} chatId
 * @property {import("../list/highlight.js").Highlight} highlight
 * @property {(id: string) => Promise<unknown>} load  Puts a message on the page.
 */

/** Starts the map, if the page has one. @param {Page} page */
export function startMap({ scroll, wire, chatId, highlight, load }) {
  const nav = document.getElementById("map");
  if (!nav) return;
  const goTo = async (/** @type {string} */ id) => {
    await load(id);
    const message = document.getElementById(`m-${id}`);
    if (message) highlight.goTo(message);
  };
  new TopicMap(nav, scroll.element, wire, chatId, { goTo, step: (step) => highlight.step(step) }).start();
}
