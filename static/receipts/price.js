// @ts-check
/** What the turns cost at a price that the reader enters, since prices differ and change. */

import { money } from "../lib/text.js";
import { recall, remember } from "../lib/memory.js";

const KEY = "price-of-a-million-tokens";
const MILLION = 1e6;

/** @param {HTMLElement | null} root  Carries the tokens that were sent, and what all would have been. */
export function startPrice(root) {
  const box = root?.querySelector("input");
  const output = root?.querySelector("output");
  if (!root || !box || !output) return;
  const show = () => {
    const price = box.valueAsNumber;
    output.textContent = price > 0 ? priceInWords(Number(root.dataset.sent), Number(root.dataset.whole), price) : "";
  };
  box.value = recall("localStorage", KEY);
  box.addEventListener("input", () => {
    remember("localStorage", KEY, box.value);
    show();
  });
  root.hidden = false;
  show();
}

/**
 * `$0.12 instead of $0.50`.
 * @param {number} sent
 * @param {number} whole
 * @param {number} price  Of a million tokens.
 */
export function priceInWords(sent, whole, price) {
  const cost = money((sent / MILLION) * price, "USD");
  const full = money((whole / MILLION) * price, "USD");
  return cost === full ? cost : `${cost} instead of ${full}`;
}
