// @ts-check
/** Fits a label into its bubble: size of type, width and number of its lines. */

const SMALLEST = 10;
const LARGEST = 16;
const MOST_LINES = 4;
const LINE = 1.2;
/** The number below the label, with the space above it, in sizes of the label. */
const COUNT = 1.05;
/** Space between text and rim. */
const PADDING = 5;
/** The same around a word that fits no other way. */
const TIGHT = 2;
/** The beginning of a word that says something. */
const FEWEST_LETTERS = 3;
const ROOMIEST = 48;
const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]/;

/** @typedef {{ size: number, width: number, lines: number, isWhole: boolean }} Fit  Pixels; `isWhole`: no word is broken, nothing cut. */
/** @typedef {(text: string) => number} Ruler  How wide a text is at a size of 1. */

/**
 * The largest type in which a label fits into a circle, at most four lines of it.
 * @param {string} label
 * @param {number} diameter
 * @param {Ruler} [ruler]
 * @param {number} [below]  What stands below it, in sizes of the label: its number, or nothing.
 * @param {number} [smallest]  The smallest type.
 * @returns {Fit}
 */
export function fit(label, diameter, ruler = widthInEms, below = COUNT, smallest = SMALLEST) {
  const words = wordsOf(label).map((word) => ({ width: ruler(word.trimEnd()), space: ruler(word) }));
  for (let size = LARGEST; size >= smallest; size -= 0.5) {
    for (let lines = 1; lines <= MOST_LINES; lines++) {
      const width = chord(diameter, size, lines + below / LINE);
      if (wrapped(words, width / size) <= lines) return { size, width, lines, isWhole: true };
    }
  }
  // Break words or cut the end: show as much as fits.
  const lines = Math.max(1, Math.min(MOST_LINES, Math.floor((diameter * 0.55) / (SMALLEST * LINE) - 0.5)));
  return { size: SMALLEST, width: chord(diameter, SMALLEST, lines + below / LINE), lines, isWhole: false };
}

/**
 * As much of a label as fits into a circle: all of it with its number, or without; its first part, its first
 * word, or the beginning of that, if it says something.
 * @param {string} label
 * @param {number} diameter
 * @param {Ruler} ruler
 * @param {number} smallest  The smallest type.
 * @returns {Fit & { words: string, isCounted: boolean }}  No words where none fits.
 */
export function fitShort(label, diameter, ruler, smallest) {
  const counted = fit(label, diameter, ruler);
  if (counted.isWhole) return { ...counted, words: label, isCounted: true };
  const parts = [label, label.split(/\s*[&,;:/()–—]\s*/u)[0], label.split(/\s/)[0]].filter(Boolean);
  const fits = parts.map((words) => ({ words, ...fit(words, diameter, ruler, 0, smallest), isCounted: false }));
  const whole = fits.find(({ isWhole }) => isWhole);
  if (whole) return whole;
  const width = chord(diameter + 2 * (PADDING - TIGHT), smallest, 1);
  const first = [...(parts.at(-1) ?? "")];
  let kept = first.length;
  while (kept && ruler(cut(first, kept)) * smallest > width) kept -= 1;
  const words = kept >= Math.min(FEWEST_LETTERS, first.length) ? cut(first, kept) : "";
  return { words, size: smallest, width, lines: 1, isWhole: false, isCounted: false };
}

/** @param {readonly string[]} letters @param {number} kept */
function cut(letters, kept) {
  return `${letters.slice(0, kept).join("")}${kept < letters.length ? "…" : ""}`;
}

/**
 * The smallest radius, from `least` on, in which a label fits with whole words; at most 48.
 * @param {string} label
 * @param {number} least
 * @param {Ruler} [ruler]
 */
export function roomFor(label, least, ruler = widthInEms) {
  let radius = least;
  while (radius < ROOMIEST && !fit(label, 2 * radius, ruler).isWhole) radius += 2;
  return radius;
}

/** The width of lines whose corners stay within the circle. @param {number} diameter @param {number} size @param {number} lines */
function chord(diameter, size, lines) {
  const half = (size * lines * LINE) / 2;
  const radius = diameter / 2 - PADDING;
  return half < radius ? 2 * Math.sqrt(radius ** 2 - half ** 2) : 0;
}

/** The number of lines that the words take; Infinity if a word is wider than a line. @param {readonly { width: number, space: number }[]} words @param {number} room */
function wrapped(words, room) {
  let lines = 1;
  let at = 0;
  for (const { width, space } of words) {
    if (width > room) return Infinity;
    if (at + width > room) {
      lines += 1;
      at = 0;
    }
    at += space;
  }
  return lines;
}

/** Pieces between which a line may break: after spaces and hyphens, and between wide characters. @param {string} label */
function wordsOf(label) {
  return label.split(/(?<=\s|[-/])(?=\S)/).flatMap((word) => (WIDE.test(word) ? [...word] : [word]));
}

/** @param {string} text */
export function widthInEms(text) {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 1 : 0.6;
  return width;
}
