// @ts-check
/** Chooses a size of type with which a label fits into its bubble. */

const SMALLEST = 9;
const LARGEST = 16;
const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]/;

/**
 * The size in CSS pixels: as large as the longest word and the number of lines allow.
 * @param {string} label
 * @param {number} diameter
 * @param {(text: string) => number} [width]  How wide a text is at a size of 1.
 * @param {number} [zoom]  How much larger than usual all type is.
 */
export function fontSize(label, diameter, width = widthInEms, zoom = 1) {
  const words = label.split(/\s+|(?<=[/-])/).filter(Boolean);
  const longest = Math.max(1, ...words.map((word) => width(unbroken(word))));
  const total = width(label);
  const byWord = (diameter * 0.8) / longest;
  const byArea = Math.sqrt((diameter * diameter * 0.36) / (total * 1.25));
  return Math.round(Math.max(SMALLEST * zoom, Math.min(LARGEST * zoom, byWord, byArea)) * 2) / 2;
}

/** The start of a word that stays on one line: a wide script may break after any character. @param {string} word */
function unbroken(word) {
  return WIDE.test(word) ? [...word].slice(0, 4).join("") : word;
}

/**
 * About how wide the text is at a size of 1.
 * @param {string} text
 */
export function widthInEms(text) {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 1 : 0.6;
  return width;
}
