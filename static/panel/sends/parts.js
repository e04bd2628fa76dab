// @ts-check
/** The parts of a request, for people: shares and words. */

import { counted, numbered } from "../../lib/text.js";

/** @typedef {{ part: string, name: string, tokens: number, share: number }} Part */
/**
 * @typedef {object} Change  What a choice would change.
 * @property {number} messages
 * @property {number} tokens
 * @property {number} added_count
 * @property {number} removed_count
 * @property {readonly string[]} added  The first of the ids.
 * @property {readonly string[]} removed
 */
/**
 * @typedef {object} Preview  A result of `smart_context.preview`.
 * @property {number} tokens
 * @property {number} unfiltered
 * @property {Record<string, number>} by_topic
 * @property {Record<string, number>} parts
 * @property {Record<string, string>} part_names
 * @property {string} model
 * @property {number | null} window
 * @property {string} window_note
 * @property {CostResult} cost
 * @property {string} reread_because
 * @property {readonly { where: string, what: string }[]} unseen
 * @property {boolean | null} file_tools  The model may read files; `null` if there is no choice.
 * @property {readonly import("../../composer/attached.js").Cut[]} cut_texts
 */

/**
 * The parts that cost something, in the order in which they are sent.
 * @param {Record<string, number>} tokens  By part.
 * @param {Record<string, string>} names  What people read for each part, in this order.
 * @param {number} unfiltered  What would be sent without a filter: the whole bar.
 * @returns {Part[]}  Shares are from 0 to 1 and together at most 1.
 */
export function partsOf(tokens, names, unfiltered) {
  const total = Object.values(tokens).reduce((sum, count) => sum + count, 0);
  const whole = Math.max(unfiltered, total, 1);
  return Object.entries(names)
    .map(([part, name]) => ({ part, name, tokens: tokens[part] ?? 0 }))
    .filter((entry) => entry.tokens > 0)
    .map((entry) => ({ ...entry, share: entry.tokens / whole }));
}

/**
 * The parts with the messages split by topic, the largest first; what belongs to none comes last.
 * @param {readonly Part[]} parts
 * @param {Record<string, number>} byTopic  Tokens by label.
 * @returns {(Part & { topic?: string })[]}
 */
export function withTopics(parts, byTopic) {
  return parts.flatMap((part) => {
    if (part.part !== "history") return [part];
    const topics = Object.entries(byTopic).sort(([, a], [, b]) => b - a);
    const shareOf = (/** @type {number} */ tokens) => (part.share * tokens) / part.tokens;
    const shown = topics.map(([topic, tokens]) => ({ ...part, topic, name: topic, tokens, share: shareOf(tokens) }));
    const rest = part.tokens - shown.reduce((sum, { tokens }) => sum + tokens, 0);
    return rest > 0 ? [...shown, { ...part, name: topics.length ? "Other messages" : part.name, tokens: rest, share: (part.share * rest) / part.tokens }] : shown;
  });
}

/**
 * `404 of 1,588 tokens · 75 % less`; without a filter `1,588 tokens`, in words while there are none.
 * @param {number} tokens
 * @param {number} unfiltered
 */
export function totalInWords(tokens, unfiltered) {
  if (!tokens && !unfiltered) return "Only your message";
  if (unfiltered <= tokens) return counted(tokens, "token");
  return `${numbered(tokens)} of ${numbered(unfiltered)} tokens · ${percent(1 - tokens / unfiltered)} less`;
}

/**
 * `1 % of the model’s 128,000 tokens`; empty if that is not known.
 * @param {number} tokens
 * @param {number | null} room
 * @param {string} note  What else people should know of the window; mostly empty.
 */
export function windowInWords(tokens, room, note = "") {
  const share = room ? `${percent(tokens / room)} of the model’s ${numbered(room)} tokens` : "";
  return [share, note].filter(Boolean).join(". ");
}

/** @param {number} share */
function percent(share) {
  return share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(100 * share)} %`;
}

/**
 * `+4 messages, +812 tokens`; `no change` when there is none.
 * @param {Change} change
 */
export function changeInWords({ messages, tokens, added_count: added, removed_count: removed }) {
  if (!added && !removed) return "no change";
  const both = added > 0 && removed > 0;
  const count = both ? `+${numbered(added)} −${numbered(removed)} messages` : `${signed(messages)} ${Math.abs(messages) === 1 ? "message" : "messages"}`;
  return `${count}, ${signed(tokens)} ${Math.abs(tokens) === 1 ? "token" : "tokens"}`;
}

/** @param {number} count */
function signed(count) {
  return `${count < 0 ? "−" : "+"}${numbered(Math.abs(count))}`;
}
