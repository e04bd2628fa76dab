// @ts-check
/** Splits growing Markdown into a part that later text can't change, and the rest. */

/** Longest part to render at once; the server refuses longer ones. */
export const LONGEST_PART = 16_000;

/** A list longer than this is cut between its items. */
const LONG_BLOCK = 4_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/** What may belong to a list before the blank line; also as long as only its first characters are there. */
const MAY_CONTINUE = /^\s|^(?:[-*+]|\d{1,9}[.)]?)(?:\s|$)/;

/**
 * @typedef {object} Cut
 * @property {number} settled  Where the blocks end that are complete.
 * @property {string} code  The opening line of the code block that the rest is; empty if it is none.
 */

/**
 * Where to cut the text. Looks only at what comes after `from`.
 * @param {string} text
 * @param {number} from  An earlier result.
 * @returns {Cut}
 */
export function cutAt(text, from) {
  let settled = from;
  let fence = "";
  let opening = "";
  let isAfterBlank = false;
  for (let start = from; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const isWhole = newline >= 0;
    const end = isWhole ? newline + 1 : text.length;
    const line = text.slice(start, isWhole ? newline : end);
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence) {
      const closes = mark[0] === fence[0] && mark.length >= fence.length && !line.trim().replaceAll(mark[0], "");
      if (closes) [fence, opening, settled] = ["", "", end];
    } else if (mark && !line.startsWith(" ")) {
      settled = start;
      if (isWhole) [fence, opening] = [mark, line];
    } else if (isAfterBlank && line && (!MAY_CONTINUE.test(line) || start - settled > LONG_BLOCK)) {
      settled = start;
    }
    isAfterBlank = !line.trim();
    start = end;
    if (settled - from >= LONGEST_PART / 2) return { settled, code: "" };
  }
  if (text.length - settled > LONGEST_PART && !opening) return { settled: lineEnd(text, settled), code: "" };
  return { settled, code: settled === text.length ? "" : opening };
}

/** The line below the head of a table, as far as it is there. */
const TABLE_RULE = /^ {0,3}\|?[\s:|-]*$/;

/**
 * The text without a table that has only begun: until the line below its head is whole, its pipes
 * would be shown as they are.
 * @param {string} text  What may still change.
 */
export function withoutBegunTable(text) {
  const lines = text.split("\n");
  const first = lines.findLastIndex((line) => !line.trim()) + 1;
  const [head = "", rule, ...rest] = lines.slice(first);
  const isBegun = head.trimStart().startsWith("|") && (rule === undefined || (!rest.length && TABLE_RULE.test(rule)));
  return isBegun ? lines.slice(0, first).join("\n") : text;
}

/** The end of the last whole line that fits into one part. @param {string} text @param {number} from */
function lineEnd(text, from) {
  const end = from + LONGEST_PART;
  return Math.max(text.lastIndexOf("\n", end - 1) + 1, 0) > from ? text.lastIndexOf("\n", end - 1) + 1 : end;
}
