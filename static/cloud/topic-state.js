// @ts-check
/** The panel's state as an immutable value, and functions of it. */

import { coloursOf } from "./hues.js";

/** @typedef {TopicResult & { id: string }} Topic */
/** @typedef {Partial<PanelResult> & { reason?: string }} News  What a result or an event says. */
/**
 * @typedef {object} PanelState
 * @property {readonly Topic[]} all  Without the sticky one.
 * @property {ReadonlyMap<string, string>} colours  The colour of each topic, by its id.
 * @property {ReadonlyMap<string, string>} hues  The same by its label.
 * @property {readonly Topic[]} topics  Those that have a bubble now.
 * @property {string} inside  The id of the topic whose parts are shown; empty at the top.
 * @property {number} stickyCount
 * @property {readonly string[]} active  Labels that are picked.
 * @property {boolean} isOn  Whether picking narrows the history.
 * @property {number} total
 * @property {readonly string[] | null} messageIds  In context; null means not known.
 * @property {boolean} fellBack
 * @property {string} status  The plugin's status line; empty while it is not known.
 * @property {string} shortStatus  The same for narrow places.
 * @property {ReadonlySet<string>} pinned
 * @property {ReadonlySet<string>} hidden
 * @property {ReadonlySet<string>} sticky
 * @property {ReadonlyMap<string, string>} keptBy  The topic that keeps a message, by its id.
 * @property {ReadonlyMap<string, number>} summedUp  How many messages of a topic a summary stands for, by its id.
 * @property {ReadonlyMap<string, string>} silent  Why none of a topic's messages can be sent, by its id.
 * @property {string} undoWords  What the choice did that can be undone; empty if there is none.
 * @property {readonly MoveResult[]} moved  Moves between topics that can be undone.
 * @property {string} reason  Why the filter could not do its work.
 * @property {number | null} threshold  The least similarity of a message that is sent; null: not known.
 * @property {boolean} isOwnThreshold  The user moved it for this chat.
 * @property {boolean} isKnown  Whether the server has said what is picked.
 */

/** @type {PanelState} */
export const NOTHING_KNOWN = Object.freeze({
  all: [], colours: new Map(), hues: new Map(), topics: [], inside: "", stickyCount: 0, active: [], isOn: true, total: 0, messageIds: null,
  fellBack: false, status: "", shortStatus: "", pinned: new Set(), hidden: new Set(), sticky: new Set(),
  keptBy: new Map(), reason: "", summedUp: new Map(), silent: new Map(), undoWords: "", moved: [], threshold: null, isOwnThreshold: false, isKnown: false,
});

/**
 * The state after a result or an event of the plugin; what it does not mention stays the same.
 * @param {PanelState} state
 * @param {News} news
 * @returns {PanelState}
 */
export function withNews(state, news) {
  const next = { ...state };
  if (Array.isArray(news.topics)) Object.assign(next, topicsOf(news.topics));
  if (Array.isArray(news.active_topics)) {
    next.active = news.active_topics.map(String);
    next.isKnown = true;
  }
  Object.assign(next, shownIn(next, next.inside));
  if (typeof news.embedding_search === "boolean") next.isOn = news.embedding_search;
  if (typeof news.total_messages === "number") next.total = news.total_messages;
  if (typeof news.threshold === "number") next.threshold = news.threshold;
  if (typeof news.threshold_is_own === "boolean") next.isOwnThreshold = news.threshold_is_own;
  if (typeof news.fell_back === "boolean") next.fellBack = news.fell_back;
  if (typeof news.status === "string") next.status = news.status;
  if (typeof news.short_status === "string") next.shortStatus = news.short_status;
  if (news.summed_up && typeof news.summed_up === "object") next.summedUp = new Map(Object.entries(news.summed_up));
  if (news.silent && typeof news.silent === "object") next.silent = new Map(Object.entries(news.silent));
  if (typeof news.undo_words === "string") Object.assign(next, { undoWords: news.undo_words, moved: news.moved ?? [] });
  for (const key of /** @type {const} */ (["pinned", "hidden", "sticky"])) {
    if (Array.isArray(news[key])) next[key] = new Set(news[key]);
  }
  if (news.kept_by && typeof news.kept_by === "object") next.keptBy = topicById(news.kept_by);
  if (Array.isArray(news.message_ids)) next.messageIds = news.message_ids;
  else if (!isFiltered(next) && !next.hidden.size) next.messageIds = null;
  const reason = news.reason ?? news.problem;
  if ("message_ids" in news || "active_topics" in news || reason) next.reason = String(reason ?? "");
  return next;
}

/** @param {PanelState} state */
export function isFiltered(state) {
  return state.isOn && state.active.length > 0;
}

/**
 * Picked labels that the chat no longer has.
 * @param {PanelState} state
 */
export function goneTopics(state) {
  const labels = new Set(state.all.map((topic) => topic.label));
  return state.active.filter((label) => !labels.has(label));
}

/** @param {Record<string, string[]>} keptBy */
function topicById(keptBy) {
  return new Map(Object.entries(keptBy).flatMap(([label, ids]) => ids.map((id) => [id, label])));
}

/**
 * @param {any[]} stored
 */
function topicsOf(stored) {
  const named = stored.filter((topic) => topic && typeof topic.label === "string");
  const sticky = named.filter((topic) => topic.sticky);
  const found = named.filter((topic) => !topic.sticky);
  const all = found.map((topic) => ({ ...topic, id: String(topic.id ?? topic.label) }));
  const colours = coloursOf(all);
  return {
    all,
    colours,
    hues: new Map(all.map(({ id, label }) => [label, colours.get(id) ?? ""])),
    stickyCount: sticky.reduce((sum, topic) => sum + (topic.message_ids?.length || topic.count || 0), 0),
  };
}

/**
 * The state with the parts of a topic in the cloud, or with the topics at the top.
 * @param {PanelState} state
 * @param {string} id  Empty: the top.
 * @returns {PanelState}
 */
export function inside(state, id) {
  return { ...state, ...shownIn(state, id) };
}

/** The parts of a topic. @param {PanelState} state @param {string} id */
export function partsOfTopic(state, id) {
  return state.all.filter((topic) => topic.parent_id === id);
}

/**
 * Parts of a wider topic have no bubble at the top, unless they are picked.
 * @param {PanelState} state
 * @param {string} id
 */
function shownIn(state, id) {
  const parts = id ? partsOfTopic(state, id) : [];
  if (parts.length) return { inside: id, topics: [...state.all.filter((topic) => topic.id === id), ...parts] };
  return { inside: "", topics: state.all.filter((topic) => !topic.parent_id || state.active.includes(topic.label)) };
}
