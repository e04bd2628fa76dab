// @ts-check
/** Counts down to when an endpoint that is asked too often wants to be asked again. */

const TICK_MS = 1000;

/** The words of the button. @param {number} seconds  Until then. */
export function tryAgainInWords(seconds) {
  return seconds > 0 ? `Try again in ${seconds} s` : "Try again";
}

/** @param {HTMLElement} message  An answer that has just failed. */
export function countDown(message) {
  const failure = /** @type {HTMLElement | null} */ (message.querySelector("[data-wait-s]"));
  const words = failure?.querySelector(".again-text");
  if (!failure || !words) return;
  const until = Date.now() + Number(failure.dataset.waitS) * TICK_MS;
  const show = () => {
    const left = Math.ceil((until - Date.now()) / TICK_MS);
    words.textContent = tryAgainInWords(left);
    if (left > 0 && failure.isConnected) setTimeout(show, TICK_MS);
  };
  show();
}
