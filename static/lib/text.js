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
  return count === 1 ? "1 message" : `${count} messages`;
}

/**
 * A message for users about a thrown value.
 * @param {unknown} error
 */
export function reasonOf(error) {
  return error instanceof Error ? error.message : String(error);
}
