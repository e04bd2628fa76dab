// @ts-check
import { recall, remember } from "../lib/memory.js";
import { arrange, placesIn } from "./arrange.js";
import { fit, roomFor } from "./fit.js";
import { Ruler } from "./ruler.js";

/** What the button for a topic's parts takes of its room, in pixels. */
const OPENER = 20;
const USUAL_TYPE_PX = 16;
const MOST_ROOMS = 16;
const SMALLEST_RADIUS = 30;
/** Rooms that differ by less have their places in common, in pixels. */
const ALIKE = 64;

/**
 * Places and sizes the labels that it contains, by their `data-topic` and `data-count`; the page
 * does all else. What is placed stays where it is, also after a reload: `data-remember` names the
 * key under which the places are kept.
 */
export class BubbleCloud extends HTMLElement {
  static observedAttributes = ["data-remember"];

  /** @type {ResizeObserver | undefined} */
  #resizes;
  /** @type {import("./arrange.js").Places | null} */
  #places = null;
  #isOver = false;
  #shown = "";
  /** The places of rooms that the cloud had before: who resizes a window and back finds them again. @type {Map<string, import("./arrange.js").Places>} */
  #rooms = new Map();
  #ruler = new Ruler(this);

  connectedCallback() {
    this.#resizes = new ResizeObserver(() => this.layout());
    this.#resizes.observe(this);
    this.addEventListener("pointerenter", (event) => (this.#isOver = event.pointerType === "mouse"));
    this.addEventListener("pointerleave", () => {
      this.#isOver = false;
      this.layout();
    });
    document.fonts.ready.then(() => {
      this.#ruler.forget();
      this.#shown = "";
      this.layout();
    });
    this.layout();
    // Bubbles glide from now on: they are placed without movement first.
    requestAnimationFrame(() => requestAnimationFrame(() => this.toggleAttribute("data-moves", true)));
  }

  /** Other bubbles have other places. */
  attributeChangedCallback() {
    this.#places = placesIn(recall("localStorage", this.dataset.remember ?? ""));
    this.#shown = "";
  }

  disconnectedCallback() {
    this.#resizes?.disconnect();
  }

  /** Places the bubbles after they, their counts or their labels have changed. */
  layout() {
    const zoom = parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_TYPE_PX;
    const width = Math.round(this.clientWidth / zoom);
    const height = Math.round(parseFloat(getComputedStyle(this).minHeight) / zoom);
    if (!width) return;
    const elements = /** @type {HTMLElement[]} */ ([...this.querySelectorAll(".bubble:not([data-leaving])")]);
    const labels = elements.map((bubble) => bubble.querySelector(".bubble-label")?.textContent ?? "");
    const topics = elements.map(({ dataset }) => [dataset.topic ?? "", Number(dataset.count)]);
    const opens = elements.map((bubble) => Boolean(bubble.querySelector(".bubble-open:not([hidden])")));
    const shown = JSON.stringify([width, height, zoom, this.#isOver, topics, labels, opens]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const bubbles = elements.map(({ dataset }, i) => ({
      id: dataset.topic ?? "",
      count: Number(dataset.count),
      least: roomFor(labels[i], SMALLEST_RADIUS, this.#ruler.widthOf),
    }));
    const room = JSON.stringify([width, height, topics, labels]);
    const before = this.#rooms.get(room) ?? this.#placesFor({ width, height });
    const { placed, places } = arrange(bubbles, { width, height }, before, this.#isOver);
    if (bubbles.length) this.#keep(places, room);
    for (const [i, { x, y, r }] of placed.entries()) {
      const { size, width: widest, lines } = fit(labels[i], 2 * r - (opens[i] ? OPENER : 0), this.#ruler.widthOf);
      const lengths = { "--x": x - r, "--y": y - r, "--d": 2 * r, "--type": size, "--label-width": widest };
      for (const [name, length] of Object.entries(lengths)) elements[i].style.setProperty(name, `${(length * zoom).toFixed(1)}px`);
      elements[i].style.setProperty("--lines", String(lines));
    }
    const lowest = Math.max(0, ...placed.map(({ y, r }) => y + r));
    this.style.setProperty("--cloud-height", `${Math.ceil(lowest * zoom)}px`);
  }

  /** The last places, or those of a room that the cloud had before. @param {import("./arrange.js").Room} room */
  #placesFor(room) {
    if (this.#places && this.#keyOf(this.#places) === this.#keyOf(room)) return this.#places;
    return placesIn(recall("localStorage", this.#keyOf(room))) ?? this.#places;
  }

  /** @param {import("./arrange.js").Room} room */
  #keyOf({ width, height }) {
    return this.dataset.remember ? `${this.dataset.remember}@${Math.round(width / ALIKE)}x${Math.round(height / ALIKE)}` : "";
  }

  /** @param {import("./arrange.js").Places} places @param {string} room */
  #keep(places, room) {
    this.#places = places;
    this.#rooms.set(room, places);
    const [oldest] = this.#rooms.keys();
    if (this.#rooms.size > MOST_ROOMS) this.#rooms.delete(oldest);
    if (!this.dataset.remember) return;
    for (const key of [this.dataset.remember, this.#keyOf(places)]) remember("localStorage", key, JSON.stringify(places));
  }
}
