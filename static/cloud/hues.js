// @ts-check
/** The hue of each topic, computed as in `topics/identity.py`. */

const HUES = 12;

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

/** The hue of a topic; it never changes. @param {string} topicId */
export function hueOf(topicId) {
  return fnv1a(topicId) % HUES;
}
