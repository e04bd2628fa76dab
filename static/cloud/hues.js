// @ts-check
/** Gives each topic its hue: the same computation as `web/panel_view.py`, so reloads keep colours. */

export const HUES = 12;
const STEP = 5;

/**
 * A 32-bit hash of the text's UTF-8, the same in every program.
 * @param {string} text
 */
export function fnv1a(text) {
  let mark = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    mark = Math.imul(mark ^ byte, 0x01000193) >>> 0;
  }
  return mark;
}

/**
 * A hue for each label: its own, or the next free one when another label has it already.
 * @param {readonly string[]} labels
 * @returns {Map<string, number>}
 */
export function huesOf(labels) {
  /** @type {Map<string, number>} */
  const hues = new Map();
  for (const label of [...new Set(labels)].sort(byCodePoint)) {
    const taken = new Set(hues.values());
    let hue = fnv1a(label) % HUES;
    while (taken.has(hue) && taken.size < HUES) hue = (hue + STEP) % HUES;
    hues.set(label, hue);
  }
  return hues;
}

/** @param {string} a @param {string} b */
function byCodePoint(a, b) {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((character, i) => character !== right[i]);
  if (at < 0) return left.length - right.length;
  return (left[at].codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}
