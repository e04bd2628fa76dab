// @ts-check
/** Chooses a size of type with which a label fits into its bubble. */

const SMALLEST = 10.5;
const LARGEST = 16;

/**
 * The size in CSS pixels: as large as the longest word and the number of lines allow.
 * @param {string} label
 * @param {number} diameter
 */
export function fontSize(label, diameter) {
  const words = label.split(/[\s/-]+/).filter(Boolean).map(widthInEms);
  const longest = Math.max(1, ...words);
  const total = widthInEms(label);
  const byWord = (diameter * 0.84) / longest;
  const byArea = Math.sqrt((diameter * diameter * 0.36) / (total * 1.25));
  return Math.round(Math.max(SMALLEST, Math.min(LARGEST, byWord, byArea)) * 2) / 2;
}

/**
 * About how wide the text is at a size of 1; a wide script breaks anywhere, so it counts to four.
 * @param {string} text
 */
function widthInEms(text) {
  let width = 0;
  for (const character of text) width += /[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]/.test(character) ? 1 : 0.55;
  return /[\u2e80-\u9fff]/.test(text) && !/\s/.test(text) ? Math.min(width, 4) : width;
}
