// @ts-check
/** The parts of a request, for people: shares and words. */

/** @typedef {{ part: string, name: string, tokens: number, share: number }} Part */

/**
 * The parts that cost something, in the order in which they are sent.
 * @param {Record<string, number>} tokens  By part.
 * @param {Record<string, string>} names  What people read for each part, in this order.
 * @param {number | null} room  The model's window; null: not known, the parts share the whole bar.
 * @returns {Part[]}  Shares are from 0 to 1 and together at most 1.
 */
export function partsOf(tokens, names, room) {
  const total = Object.values(tokens).reduce((sum, count) => sum + count, 0);
  const whole = Math.max(room ?? 0, total, 1);
  return Object.entries(names)
    .map(([part, name]) => ({ part, name, tokens: tokens[part] ?? 0 }))
    .filter((entry) => entry.tokens > 0)
    .map((entry) => ({ ...entry, share: entry.tokens / whole }));
}

/**
 * `1,240 tokens · 1 % of 128,000`.
 * @param {number} tokens
 * @param {number | null} room
 */
export function totalInWords(tokens, room) {
  const words = `${counted(tokens)} ${tokens === 1 ? "token" : "tokens"}`;
  if (!room) return words;
  const percent = (100 * tokens) / room;
  return `${words} · ${percent > 0 && percent < 1 ? "under 1" : Math.round(percent)} % of ${counted(room)}`;
}

/**
 * `+4 messages, +812 tokens`; `no change` when there is none.
 * @param {{ messages: number, tokens: number, added_count: number, removed_count: number }} change
 */
export function changeInWords({ messages, tokens, added_count: added, removed_count: removed }) {
  if (!added && !removed) return "no change";
  const both = added > 0 && removed > 0;
  const count = both ? `+${counted(added)} −${counted(removed)} messages` : `${signed(messages)} ${Math.abs(messages) === 1 ? "message" : "messages"}`;
  return `${count}, ${signed(tokens)} ${Math.abs(tokens) === 1 ? "token" : "tokens"}`;
}

/** @param {number} count */
export function counted(count) {
  return count.toLocaleString("en");
}

/** @param {number} count */
function signed(count) {
  return `${count < 0 ? "−" : "+"}${counted(Math.abs(count))}`;
}
