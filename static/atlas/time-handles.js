// @ts-check
/** The strip of time: bars of messages, and two handles between which messages count. */

import { find } from "../lib/find.js";
import { messagesCounted } from "../lib/text.js";
import { isNews } from "./bubbles.js";
import { axisNow, axisOf, countsIn, datesOf, daysOf, periodInWords, periodsBetween } from "./timeline.js";

/** @typedef {import("./atlas.js").Atlas} Atlas */
/** @typedef {import("./atlas.js").Place} Place */
/** @typedef {{ since: string, until: string }} Dates */

const STEPS = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -6, PageUp: 6 });
/** A period with a single message is seen, above the line at the bottom. */
const LEAST_PX = 5;

export class TimeHandles {
  #root;
  #onChange;
  /** @type {import("./timeline.js").Axis | null} */
  #axis = null;
  /** The first and the last period that count. @type {[number, number]} */
  #between = [0, 0];

  /** @param {HTMLElement} root @param {(dates: Dates) => void} onChange */
  constructor(root, onChange) {
    this.#root = root;
    this.#onChange = onChange;
  }

  start() {
    for (const handle of this.#handles) {
      const which = this.#handles.indexOf(handle);
      handle.addEventListener("keydown", (event) => this.#press(event, which));
      handle.addEventListener("pointerdown", (event) => this.#drag(event, (period) => this.#move(which, period)));
    }
    find(".time-window", this.#root).addEventListener("pointerdown", (event) => {
      const [first, last] = this.#between;
      const from = this.#periodAt(event);
      if (first > 0 || last < this.#length - 1) this.#drag(event, (period) => this.#slide(first, last, period - from));
    });
    find("[data-all-time]", this.#root).addEventListener("click", () => {
      this.#set(0, this.#length - 1);
      this.#handles[0].focus();
    });
  }

  /** @param {Atlas} atlas @param {Place} place @param {readonly import("./atlas.js").Topic[]} shown  Those that the bars are about. @param {string} hue */
  show(atlas, place, shown, hue) {
    this.#axis = axisOf(daysOf(atlas.topics.values()), axisNow());
    this.#root.hidden = this.#axis === null || this.#axis.starts.length < 2;
    if (!this.#axis || this.#root.hidden) return;
    this.#between = periodsBetween(this.#axis, place.since, place.until);
    if (hue) this.#root.dataset.hue = hue;
    else delete this.#root.dataset.hue;
    const counts = countsIn(this.#axis, daysOf(shown));
    if (isNews(this.#root, [this.#axis.starts, counts])) this.#draw(counts);
    this.#showBetween();
  }

  /** @param {readonly number[]} counts */
  #draw(counts) {
    const words = (/** @type {number} */ i) => periodInWords(/** @type {any} */ (this.#axis), i);
    const most = Math.max(1, ...counts);
    const bars = counts.map((count, i) => {
      const bar = document.createElement("i");
      bar.title = `${words(i)}: ${messagesCounted(count)}`;
      bar.style.setProperty("--height", count ? `max(${LEAST_PX}px, ${((100 * count) / most).toFixed(1)}%)` : "0");
      return bar;
    });
    find(".time-bars", this.#root).replaceChildren(...bars);
    find(".time-first", this.#root).textContent = words(0);
    find(".time-last", this.#root).textContent = words(counts.length - 1);
  }

  #showBetween() {
    const axis = /** @type {import("./timeline.js").Axis} */ (this.#axis);
    const [first, last] = this.#between;
    const count = axis.starts.length;
    const strip = find(".time-strip", this.#root);
    strip.style.setProperty("--from", `${(100 * first) / count}%`);
    strip.style.setProperty("--to", `${(100 * (last + 1)) / count}%`);
    for (const [i, bar] of [...find(".time-bars", this.#root).children].entries()) bar.toggleAttribute("data-out", i < first || i > last);
    for (const [which, handle] of this.#handles.entries()) {
      handle.ariaValueMin = String(which ? first : 0);
      handle.ariaValueMax = String(which ? count - 1 : last);
      handle.ariaValueNow = String(this.#between[which]);
      handle.ariaValueText = periodInWords(axis, this.#between[which]);
    }
    const isAll = first === 0 && last === count - 1;
    const words = first === last ? periodInWords(axis, first) : `${periodInWords(axis, first)} – ${periodInWords(axis, last)}`;
    find(".time-words", this.#root).textContent = isAll ? "All time" : words;
    find("[data-all-time]", this.#root).hidden = isAll;
  }

  /** @param {KeyboardEvent} event @param {number} which */
  #press(event, which) {
    const ends = { Home: 0, End: this.#length - 1 };
    const step = STEPS[event.key];
    const wanted = event.key in ends ? ends[/** @type {"Home" | "End"} */ (event.key)] : this.#between[which] + (step ?? 0);
    if (step === undefined && !(event.key in ends)) return;
    event.preventDefault();
    this.#move(which, wanted);
  }

  /** @param {PointerEvent} event @param {(period: number) => void} move */
  #drag(event, move) {
    if (event.button) return;
    event.preventDefault();
    const handle = /** @type {HTMLElement} */ (event.currentTarget);
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    const follow = (/** @type {PointerEvent} */ moved) => move(this.#periodAt(moved));
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", follow), { once: true });
  }

  /** @param {PointerEvent} event */
  #periodAt({ clientX }) {
    const { left, width } = find(".time-strip", this.#root).getBoundingClientRect();
    return Math.max(0, Math.min(this.#length - 1, Math.floor(((clientX - left) / width) * this.#length)));
  }

  /** @param {number} which @param {number} wanted */
  #move(which, wanted) {
    const [first, last] = this.#between;
    if (which) this.#set(first, Math.max(first, Math.min(this.#length - 1, wanted)));
    else this.#set(Math.max(0, Math.min(last, wanted)), last);
  }

  /** @param {number} first @param {number} last @param {number} by */
  #slide(first, last, by) {
    const bounded = Math.max(-first, Math.min(this.#length - 1 - last, by));
    this.#set(first + bounded, last + bounded);
  }

  /** @param {number} first @param {number} last */
  #set(first, last) {
    if (!this.#axis || (first === this.#between[0] && last === this.#between[1])) return;
    this.#between = [first, last];
    this.#showBetween();
    this.#onChange(datesOf(this.#axis, first, last));
  }

  /** How many periods there are. */
  get #length() {
    return this.#axis?.starts.length ?? 0;
  }

  get #handles() {
    return /** @type {HTMLElement[]} */ ([...this.#root.querySelectorAll("[role=slider]")]);
  }
}
