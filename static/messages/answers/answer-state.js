// @ts-check
/** Says of an answer that is awaited or being written how far it is, and since when no text has come. */

import { counted } from "../../lib/text.js";

const NOTEWORTHY_S = 5;
const TICK_MS = 1000;

/**
 * @typedef {object} Answer
 * @property {number} seconds  Since its last text, or since the model began to read.
 * @property {boolean} [thinks]
 * @property {boolean} [reads]  Nothing of it has come.
 * @property {number | null} [tokens]  What the model has to read, if that is known.
 * @property {number | null} [percent]  How many of them it has read, if its server says so.
 * @property {number} [wait]  Seconds until a busy model is asked again.
 */

/** What stands below the text so far. @param {Answer} answer */
export function stateInWords({ seconds, thinks = false, reads = false, tokens = null, percent = null, wait = 0 }) {
  if (wait >= 1) return `The model is busy; trying again in ${wait} s`;
  if (reads) return [`Reading ${readInWords(tokens, percent)}`.trim(), seconds >= 1 && `${seconds} s`].filter(Boolean).join(" · ");
  if (seconds < NOTEWORTHY_S) return thinks ? "Thinking" : "Writing";
  return `${thinks ? "Thinking" : "Writing"} · its last word came ${seconds} s ago`;
}

/** `899 tokens`, `40 % of 899 tokens`. @param {number | null} tokens @param {number | null} percent */
function readInWords(tokens, percent) {
  const all = tokens === null ? "" : counted(tokens, "token");
  return percent === null ? all : `${percent} % of ${all}`;
}

/** @param {HTMLElement} message */
function stateOf(message) {
  const { heard, againAt, reads, thinks } = message.dataset;
  const hasNothing = thinks === undefined && !message.querySelector(".body > *");
  return stateInWords({
    seconds: Math.round((Date.now() - Number(heard)) / TICK_MS),
    thinks: thinks !== undefined,
    wait: Math.ceil((Number(againAt ?? 0) - Date.now()) / TICK_MS),
    reads: hasNothing || reads !== undefined,
    ...JSON.parse(reads ?? "{}"),
  });
}

/** @param {HTMLElement} list  Holds the messages. */
export function watchAnswers(list) {
  setInterval(() => {
    for (const message of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("[data-generating]"))) {
      message.dataset.heard ??= String(Date.now());
      const words = stateOf(message);
      const line = message.querySelector(".writing-text");
      if (line && line.textContent !== words) line.textContent = words;
    }
  }, TICK_MS);
}
