// @ts-check
import { fontSize, widthInEms } from "./fit.js";
import { cloud } from "./pack.js";

const GAP = 6;
const USUAL_TYPE_PX = 16;

/**
 * Places and sizes the labels that it contains, by their `data-count`; everything else about them
 * (that they are checkboxes, their colours, what they do) is the page's own.
 */
export class BubbleCloud extends HTMLElement {
  /** @type {ResizeObserver | undefined} */
  #resizes;
  #width = 0;
  /** @type {CanvasRenderingContext2D | null} */
  #ruler = null;

  connectedCallback() {
    this.#resizes = new ResizeObserver(() => {
      if (Math.abs(this.clientWidth - this.#width) >= 1) this.layout();
    });
    this.#resizes.observe(this);
    this.layout();
    // Only from now on do bubbles glide: the first placing is no movement.
    requestAnimationFrame(() => requestAnimationFrame(() => this.toggleAttribute("data-moves", true)));
  }

  disconnectedCallback() {
    this.#resizes?.disconnect();
  }

  /** Places the bubbles anew, after they or their counts have changed. */
  layout() {
    this.#width = this.clientWidth;
    const bubbles = /** @type {HTMLElement[]} */ ([...this.querySelectorAll(".bubble:not([data-leaving])")]);
    if (!this.#width) return;
    const zoom = parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_TYPE_PX;
    const counts = bubbles.map((bubble) => Number(bubble.dataset.count));
    const { sizes, places } = scaled(cloud(counts, this.#width / zoom, GAP), zoom);
    const top = Math.min(0, ...places.map(({ y }, i) => y - sizes[i]));
    const bottom = Math.max(0, ...places.map(({ y }, i) => y + sizes[i]));
    const left = Math.min(0, ...places.map(({ x }, i) => x - sizes[i]));
    const right = Math.max(0, ...places.map(({ x }, i) => x + sizes[i]));
    const middle = this.#width / 2 - (left + right) / 2;
    this.style.setProperty("--cloud-height", `${Math.ceil(bottom - top)}px`);
    for (const [i, bubble] of bubbles.entries()) {
      const { style } = bubble;
      style.setProperty("--x", `${(middle + places[i].x - sizes[i]).toFixed(1)}px`);
      style.setProperty("--y", `${(places[i].y - sizes[i] - top).toFixed(1)}px`);
      style.setProperty("--d", `${(2 * sizes[i]).toFixed(1)}px`);
      const label = bubble.querySelector(".bubble-label")?.textContent ?? "";
      style.setProperty("--type", `${fontSize(label, 2 * sizes[i], (text) => this.#widthOf(text), zoom)}px`);
    }
  }

  /** How wide a label's text is at a size of 1, in the font that it has here. @param {string} text */
  #widthOf(text) {
    if (!this.#ruler) {
      this.#ruler = document.createElement("canvas").getContext("2d");
      if (this.#ruler) this.#ruler.font = `600 100px ${getComputedStyle(this).fontFamily}`;
    }
    return this.#ruler ? this.#ruler.measureText(text).width / 100 : widthInEms(text);
  }
}

/** @param {ReturnType<typeof cloud>} whole @param {number} zoom */
function scaled({ sizes, places }, zoom) {
  return {
    sizes: sizes.map((size) => size * zoom),
    places: places.map(({ x, y }) => ({ x: x * zoom, y: y * zoom })),
  };
}
