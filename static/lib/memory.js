// @ts-check
/** What the browser remembers; pages work the same, but forgetfully, where it is not allowed to. */

/** @typedef {"localStorage" | "sessionStorage"} Place */

/** @param {Place} place @param {string} key @returns {string} */
export function recall(place, key) {
  try {
    return globalThis[place].getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Remembers a text; forgets the key if it is empty. @param {Place} place @param {string} key @param {string} text */
export function remember(place, key, text) {
  try {
    if (text) globalThis[place].setItem(key, text);
    else globalThis[place].removeItem(key);
  } catch {
    // Storage is full or forbidden: nothing that is remembered here is needed.
  }
}
