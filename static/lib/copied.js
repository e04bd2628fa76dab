// @ts-check
/** Copies a text, and says so at the pressed button. */

import { announce } from "./announce.js";

const SHOWN_MS = 1600;

/**
 * Call it within the click: WebKit refuses what begins later.
 * @param {HTMLElement} pressed
 * @param {string | Promise<string | null>} text  What has to be fetched comes as a promise; null copies nothing.
 * @throws {Error} If the browser refuses, or the text does not come.
 */
export async function copied(pressed, text) {
  if (!navigator.clipboard) throw new Error("Browsers let a page copy only on https or localhost. Select the text instead.");
  if (typeof text === "string") await navigator.clipboard.writeText(text);
  else if (!(await wasCopied(text))) return false;
  pressed.dataset.done = "Copied";
  announce("Copied");
  setTimeout(() => delete pressed.dataset.done, SHOWN_MS);
  return true;
}

/** @param {Promise<string | null>} text  @returns {Promise<boolean>}  False for null. */
async function wasCopied(text) {
  const blob = text.then((whole) => whole === null ? Promise.reject(new Error("nothing")) : new Blob([whole], { type: "text/plain" }));
  try {
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    return true;
  } catch (refused) {
    if ((await text) === null) return false; // why a text does not come is said, not that nothing was copied
    throw refused;
  }
}
