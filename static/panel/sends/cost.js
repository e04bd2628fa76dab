// @ts-check
/** What a request costs, in words. */

import { LEAST_AMOUNT, counted, money, numbered } from "../../lib/text.js";

/** @typedef {CostResult} Cost */

/**
 * `1,240 tokens, ≈ $0.002 instead of $0.011`.
 * @param {Cost} cost
 */
export function costInWords(cost) {
  return [counted(cost.sent, "token"), priceInWords(cost)].filter(Boolean).join(", ");
}

/** `≈ $0.002`, and what sending everything would cost; empty without a price. @param {Cost} cost */
export function priceInWords({ saved, price }) {
  if (!price) return "";
  const now = about(price.now, price.currency);
  return saved ? `${now} instead of ${money(price.everything, price.currency)}` : now;
}

/** From this many unchanged tokens on, providers remember what they have read. */
const LEAST_KNOWN = 1024;

/**
 * `The first 2,783 tokens are as last time, which costs less.`; empty if they are too few for that.
 * @param {Cost} cost
 */
export function knownInWords({ unchanged }) {
  return unchanged < LEAST_KNOWN ? "" : `The first ${numbered(unchanged)} tokens are as last time, which costs less.`;
}

/**
 * `1,240 tokens are read again: an earlier message is no longer sent.`; empty if none are.
 * @param {Cost} cost
 * @param {string} why
 */
export function rereadInWords({ reread }, why) {
  return reread && why ? `${counted(reread, "token")} ${reread === 1 ? "is" : "are"} read again: ${why}.` : "";
}

/** `≈ $0.0021`, or `under $0.0001`. @param {number} amount @param {string} currency */
export function about(amount, currency) {
  return `${amount > 0 && amount < LEAST_AMOUNT ? "" : "≈ "}${money(amount, currency)}`;
}
