// @ts-check
/** Copies a text, and says so at the pressed button. */

import { announce } from "./announce.js";

const SHOWN_MS = 1600;

/**
 * @param {HTMLElement} pressed
 * @param {string} text
 * @throws {Error} If the browser refuses.
 */
export async function copied(pressed, text) {
  if (!navigator.clipboard) throw new Error("Browsers let a page copy only on https or localhost. Select the text instead.");
  await navigator.clipboard.writeText(text);
  pressed.dataset.done = "Copied";
  announce("Copied");
  setTimeout(() => delete pressed.dataset.done, SHOWN_MS);
}
