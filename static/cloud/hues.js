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
 * of the topic with a shade, `7 s1`. A topic has the hue of its id, unless that is the hue of another
 * or beside it; then it has one as unlike those of others as can be. The server computes the same in
 * `topics/identity.py`.
 * @param {readonly { id: string, parent_id?: string }[]} topics
 * @returns {Map<string, string>}
 */
export function coloursOf(topics) {
  const parents = new Map(topics.map(({ id, parent_id: parent }) => [id, parent ?? ""]));
  const ids = [...parents.keys()].sort((a, b) => (a < b ? -1 : 1));
  /** @type {Map<string, string>} */
  const colours = new Map();
  const atTop = ids.filter((one) => !parents.has(parents.get(one) ?? ""));
  for (const [id, hue] of spread(atTop.map((id) => [id, hueOf(id)]))) colours.set(id, String(hue));
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

/**
 * The hues of what is in view together: the wanted one for each that stands apart by it, or that finds
 * it free where six are taken; for all others one as unlike those of others as can be.
 * @param {readonly (readonly [string, number])[]} wanted  In an order that stays.
 * @returns {Map<string, number>}
 */
function spread(wanted) {
  /** @type {Map<string, number>} */
  const chosen = new Map();
  /** @type {number[]} */
  const counts = Array(HUES).fill(0);
  for (const leavesRoom of [true, false]) {
    for (const [id, own] of wanted) {
      const isApart = ![HUES - 1, 0, 1].some((step) => counts[(own + step) % HUES]);
      if (chosen.has(id) || (leavesRoom && !isApart)) continue;
      const isCrowded = counts.filter(Boolean).length >= HUES / 2;
      const hue = isApart || (isCrowded && !counts[own]) ? own : mostUnlike(counts);
      chosen.set(id, hue);
      counts[hue] += 1;
    }
  }
  return chosen;
}

/** The hue that one tells best from those in view. @param {readonly number[]} counts  How many have each hue. */
function mostUnlike(counts) {
  const taken = counts.flatMap((count, hue) => (count ? [{ hue, count }] : []));
  const unlikeness = counts.map((own, hue) => {
    const aligned = taken.reduce((sum, other) => sum + ((hue - other.hue) % 2 ? 0 : other.count), 0);
    const apart = taken.map((other) => Math.min((hue - other.hue + HUES) % HUES, (other.hue - hue + HUES) % HUES));
    return [-own, aligned, Math.min(HUES / 3, ...apart)];
  });
  return unlikeness.reduce((best, one, hue) => (isMore(one, unlikeness[best]) ? hue : best), 0);
}

/** @param {readonly number[]} a @param {readonly number[]} b */
function isMore(a, b) {
  const place = a.findIndex((value, i) => value !== b[i]);
  return place >= 0 && a[place] > b[place];
}

/** The hue of a topic's id; it never changes. @param {string} topicId */
export function hueOf(topicId) {
  return fnv1a(topicId) % HUES;
}
