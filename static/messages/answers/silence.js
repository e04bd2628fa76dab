// @ts-check
/** Says of an answer that is being written when no text has come for a while. */

const NOTEWORTHY_S = 5;
const TICK_MS = 1000;

/**
 * What stands below the text so far.
 * @param {number} seconds  Since the last text.
 * @param {boolean} thinks
 * @param {number} wait  Seconds until a busy model is asked again.
 */
export function silenceInWords(seconds, thinks = false, wait = 0) {
  if (wait >= 1) return `The model is busy; trying again in ${wait} s`;
  if (seconds < NOTEWORTHY_S) return thinks ? "Thinking" : "Writing";
  return `No text for ${seconds} s`;
}

/** @param {HTMLElement} list  Holds the messages. */
export function watchSilence(list) {
  setInterval(() => {
    for (const message of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("[data-generating]"))) {
      message.dataset.heard ??= String(Date.now());
      const since = Math.round((Date.now() - Number(message.dataset.heard)) / TICK_MS);
      const wait = Math.ceil((Number(message.dataset.againAt ?? 0) - Date.now()) / TICK_MS);
      const words = silenceInWords(since, "thinks" in message.dataset, wait);
      const line = message.querySelector(".writing-text");
      if (line && line.textContent !== words) line.textContent = words;
    }
  }, TICK_MS);
}
