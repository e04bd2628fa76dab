// @ts-check
/** The hue of each topic, computed as in `topics/identity.py`. */

const HUES = 12;
const SHADES = 6;

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
 * The colour of each topic by its id, as `data-hue` takes it: a hue, and for a part of a topic that
 * of the topic with a shade, `7 s1`. Topics whose ids have one hue get neighbouring ones. The server
 * computes the same in `topics/identity.py`.
 * @param {readonly { id: string, parent_id?: string }[]} topics
 * @returns {Map<string, string>}
 */
export function coloursOf(topics) {
  const parents = new Map(topics.map(({ id, parent_id: parent }) => [id, parent ?? ""]));
  const ids = [...parents.keys()].sort((a, b) => (a < b ? -1 : 1));
  /** @type {Map<string, string>} */
  const colours = new Map();
  /** @type {Set<number>} */
  const taken = new Set();
  for (const id of ids.filter((one) => !parents.has(parents.get(one) ?? ""))) {
    let hue = hueOf(id);
    while (taken.has(hue) && taken.size < HUES) hue = (hue + 1) % HUES;
    taken.add(hue);
    colours.set(id, String(hue));
  }
  /** @type {Map<string, number>} */
  const parts = new Map();
  for (const id of ids.filter((one) => parents.has(parents.get(one) ?? ""))) {
    const parent = parents.get(id) ?? "";
    const place = parts.get(parent) ?? 0;
    parts.set(parent, place + 1);
    colours.set(id, `${colours.get(parent) ?? hueOf(parent)} s${(place % SHADES) + 1}`);
  }
  return colours;
}

/** The hue of a topic's id; it never changes. @param {string} topicId */
export function hueOf(topicId) {
  return fnv1a(topicId) % HUES;
}
