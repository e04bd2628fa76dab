// @ts-check
/** The border of the panel, which can be dragged, or moved by arrow keys; its place is kept. */

import { remember } from "../lib/memory.js";

const NARROWEST = 280;
const STEP = 24;
/** What stays for the chat. */
const LEFT_OVER = 0.5;

/** The width that is possible and nearest to the one wanted, in pixels. @param {number} wanted @param {number} window */
export function possibleWidth(wanted, window) {
  return Math.round(Math.max(NARROWEST, Math.min(wanted, window * LEFT_OVER)));
}

/** Makes the border work, if the page has one. */
export function startSideWidth() {
  const border = /** @type {HTMLElement | null} */ (document.querySelector(".side-border"));
  const side = border?.parentElement;
  if (!border || !side) return;
  const root = document.documentElement;
  /** @param {number} wanted */
  const show = (wanted) => {
    const width = possibleWidth(wanted, innerWidth);
    root.style.setProperty("--side-width", `${width}px`);
    border.setAttribute("aria-valuenow", String(width));
    return width;
  };
  const keep = (/** @type {number} */ width) => remember("localStorage", "side-width", String(width));
  border.setAttribute("aria-valuemin", String(NARROWEST));
  border.setAttribute("aria-valuemax", String(Math.round(innerWidth * LEFT_OVER)));
  border.setAttribute("aria-valuenow", String(Math.round(side.offsetWidth)));
  border.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    border.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ { clientX }) => show(side.getBoundingClientRect().right - clientX);
    border.addEventListener("pointermove", move);
    border.addEventListener("lostpointercapture", () => {
      border.removeEventListener("pointermove", move);
      keep(side.offsetWidth);
    }, { once: true });
  });
  border.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
    if (!step) return;
    event.preventDefault();
    keep(show(side.offsetWidth + step));
  });
  border.addEventListener("dblclick", () => {
    root.style.removeProperty("--side-width");
    remember("localStorage", "side-width", "");
  });
}
