// @ts-check
import { fontSize } from "./fit.js";
import { pack, radii } from "./pack.js";

const GAP = 6;

/**
 * Places and sizes the labels that it contains, by their `data-count`; everything else about them
 * (that they are checkboxes, their colours, what they do) is the page's own.
 */
export class BubbleCloud extends HTMLElement {
  /** @type {ResizeObserver | undefined} */
  #resizes;
  #width = 0;

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
    const sizes = radii(bubbles.map((bubble) => Number(bubble.dataset.count)), this.#width);
    const places = pack(sizes, GAP, this.#width);
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
      style.setProperty("--type", `${fontSize(label, 2 * sizes[i])}px`);
    }
  }
}
