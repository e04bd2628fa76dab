// @ts-check

/** Tells who hears the page what has just happened; the same words twice are told twice. @param {string} words */
export function announce(words) {
  const announcer = document.getElementById("announcer");
  announcer?.replaceChildren();
  announcer?.append(words);
}
