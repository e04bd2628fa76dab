// @ts-check
/** What the map of a chat shows, row by row. */

/** @typedef {Pick<TopicMapResult, "message_ids" | "topics">} TopicMap */
/** @typedef {{ first: number, count: number, topic: string, isSent: boolean }} Row */

/**
 * A limited number of rows over the length of the chat, each with the topic of most of its messages.
 * @param {TopicMap} map
 * @param {number} most
 * @param {ReadonlySet<string> | null} sent  Ids of what is sent; null: all.
 * @param {ReadonlyMap<string, string>} keptBy  The picked topic that keeps a message.
 * @returns {Row[]}
 */
export function rowsOf({ message_ids: ids, topics }, most, sent, keptBy) {
  /** @type {Map<number, string>} */
  const topicAt = new Map();
  for (const { label, places } of topics) for (const place of places) topicAt.set(place, label);
  for (const [place, id] of ids.entries()) {
    const label = keptBy.get(id);
    if (label) topicAt.set(place, label);
  }
  const size = Math.max(1, Math.ceil(ids.length / Math.max(most, 1)));
  const rows = [];
  for (let first = 0; first < ids.length; first += size) {
    const places = Array.from({ length: Math.min(size, ids.length - first) }, (_, n) => first + n);
    const kept = sent ? places.filter((place) => sent.has(ids[place])) : places;
    const shown = kept.length ? kept : places;
    rows.push({ first: shown[0], count: places.length, topic: mostFrequent(shown.map((place) => topicAt.get(place) ?? "")), isSent: kept.length > 0 });
  }
  return rows;
}

/** @param {readonly string[]} labels */
function mostFrequent(labels) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const label of labels) if (label) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
}
