// @ts-check
/** Text functions that several modules share. */

/**
 * The text with each direction-changing character replaced by its code, as on the server.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(
    /[\u202a-\u202e\u2066-\u2069]/g,
    (character) => `⟦U+${character.charCodeAt(0).toString(16).toUpperCase()}⟧`,
  );
}

/**
 * `1 message`, `4 messages`.
 * @param {number} count
 */
export function messagesCounted(count) {
  return count === 1 ? "1 message" : `${count.toLocaleString("en")} messages`;
}

/**
 * A part of an address in plain text; as it is if it encodes nothing: anybody may type `#100%`.
 * @param {string} part
 */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * A message for users about a thrown value.
 * @param {unknown} error
 */
export function reasonOf(error) {
  return error instanceof Error ? error.message : String(error);
}
