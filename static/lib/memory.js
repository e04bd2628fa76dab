// @ts-check
/** Texts kept in the browser's storage; pages work without it, but forget. */

/** @typedef {"localStorage" | "sessionStorage"} Place */

/** @param {Place} place @param {string} key @returns {string} */
export function recall(place, key) {
  try {
    return globalThis[place].getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Stores a text; removes the key if the text is empty. @param {Place} place @param {string} key @param {string} text */
export function remember(place, key, text) {
  try {
    if (text) globalThis[place].setItem(key, text);
    else globalThis[place].removeItem(key);
  } catch {
    // Storage is full or forbidden, and nothing in it is essential.
  }
}
