// @ts-check
/** Measures texts in the font that an element has. */

import { widthInEms } from "./fit.js";

const MEASURED_AT = 100;
/** Small type is up to so much wider than large type where letters are rounded to whole pixels. */
const ROUNDED = 1.05;

export class Ruler {
  #element;
  /** @type {CanvasRenderingContext2D | null} */
  #canvas = null;
  /** @type {Map<string, number>} */
  #widths = new Map();

  /** @param {Element} element */
  constructor(element) {
    this.#element = element;
  }

  /** Another font may have come. */
  forget() {
    this.#widths.clear();
  }

  /** How wide a text is, semi-bold, at a size of 1. @param {string} text */
  widthOf = (text) => {
    const known = this.#widths.get(text);
    if (known !== undefined) return known;
    if (!this.#widths.size) {
      this.#canvas = document.createElement("canvas").getContext("2d");
      if (this.#canvas) this.#canvas.font = `600 ${MEASURED_AT}px ${getComputedStyle(this.#element).fontFamily}`;
    }
    const width = this.#canvas ? (ROUNDED * this.#canvas.measureText(text).width) / MEASURED_AT : widthInEms(text);
    this.#widths.set(text, width);
    return width;
  };
}
