// @ts-check
/** Joins the pieces of a streamed answer, even if some arrive twice, late or not at all. */

/**
 * @typedef {object} Pieces
 * @property {string} text  What has arrived without a gap.
 * @property {number} length  Its length in characters (code points), as the server counts them.
 * @property {readonly { offset: number, text: string }[]} waiting  Pieces after a gap.
 */

/** @type {Pieces} */
export const NO_PIECES = Object.freeze({ text: "", length: 0, waiting: Object.freeze([]) });

/**
 * The answer with one more piece. What is already there is not added again.
 * @param {Pieces} pieces
 * @param {number} offset  How many characters come before it.
 * @param {string} text
 * @returns {Pieces}
 */
export function withPiece(pieces, offset, text) {
  let joined = pieces;
  const waiting = [...pieces.waiting, { offset, text }].sort((a, b) => a.offset - b.offset);
  while (waiting.length && waiting[0].offset <= joined.length) {
    joined = joinedWith(joined, /** @type {{ offset: number, text: string }} */ (waiting.shift()));
  }
  return { text: joined.text, length: joined.length, waiting };
}

/**
 * True if a piece is missing, so that the rest has to be fetched.
 * @param {Pieces} pieces
 */
export function hasGap(pieces) {
  return pieces.waiting.length > 0;
}

/**
 * @param {Pieces} pieces
 * @param {{ offset: number, text: string }} piece
 * @returns {Pieces}
 */
function joinedWith(pieces, piece) {
  const characters = [...piece.text];
  const fresh = characters.slice(pieces.length - piece.offset);
  if (!fresh.length) return pieces;
  return { ...pieces, text: pieces.text + fresh.join(""), length: pieces.length + fresh.length };
}
