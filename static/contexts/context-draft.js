// @ts-check
/** A context that is being built, as values and functions of them. */

/** @typedef {Record<string, any>} Options  As the server keeps them; what is not set is left out. */
const WHOLE_VAULT = ".";

/** @typedef {"chosen" | "covered" | "partly" | "none"} Tick */

/**
 * How a row of the tree is ticked: itself, through a parent, partly through a child, or not.
 * @param {readonly string[]} items
 * @param {string} key  A folder's ends in a slash; a part of a note has a `#`.
 * @returns {Tick}
 */
export function tickOf(items, key) {
  if (items.includes(key)) return "chosen";
  if (items.some((item) => holds(item, key))) return "covered";
  return items.some((item) => holds(key, item)) ? "partly" : "none";
}

/**
 * The items with one added or removed; items that a new one includes are dropped.
 * @param {readonly string[]} items
 * @param {string} key
 * @param {boolean} isChosen
 */
export function withItem(items, key, isChosen) {
  const others = items.filter((item) => item !== key && !(isChosen && holds(key, item)));
  return isChosen ? [...others, key] : others;
}

/** True if one item includes the other. @param {string} whole @param {string} part */
export function holds(whole, part) {
  if (whole === part) return false;
  if (whole === WHOLE_VAULT) return true;
  return part.startsWith(whole.endsWith("/") ? whole : `${whole}#`);
}

/**
 * The name and the folder of a key, for users.
 * @param {string} key
 * @returns {{ name: string, place: string }}
 */
export function wordsOf(key) {
  if (key === WHOLE_VAULT) return { name: "The whole vault", place: "" };
  const part = key.search(/(?<=\.(?:md|canvas))#/i);
  const path = part < 0 ? key : key.slice(0, part);
  const bare = path.replace(/\/$/, "");
  const name = bare.slice(bare.lastIndexOf("/") + 1).replace(/\.md$/i, "");
  const place = bare.includes("/") ? bare.slice(0, bare.lastIndexOf("/")) : "";
  if (part < 0) return { name: path.endsWith("/") ? `${name}/` : name, place };
  return { name: `${name} › ${key.slice(part + 1).replace(/^\^/, "¶ ")}`, place };
}

/**
 * The draft as one text, to detect changes.
 * @param {readonly string[]} items
 * @param {Options} options
 */
export function markOf(items, options) {
  return JSON.stringify([items, Object.entries(options).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** A number where there is little room: `950`, `1.2k`, `48k`. @param {number} count */
export function short(count) {
  if (count < 1000) return String(count);
  return `${count < 9950 ? (count / 1000).toFixed(1).replace(/\.0$/, "") : Math.round(count / 1000)}k`;
}
