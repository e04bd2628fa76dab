// @ts-check
/** What the panel knows, as one frozen value; functions from it to the next one and to words. */

/** @typedef {{ id: string, label: string, count: number, sticky?: boolean, message_ids?: string[] }} Topic */
/**
 * @typedef {object} PanelState
 * @property {readonly Topic[]} topics  Without the sticky one.
 * @property {number} stickyCount
 * @property {readonly string[]} active  Labels that are picked.
 * @property {boolean} isOn  Whether picking narrows the history.
 * @property {number} total
 * @property {readonly string[] | null} messageIds  In context; null means not known.
 * @property {boolean} fellBack
 * @property {string} status  The plugin's status line; empty while it is not known.
 * @property {ReadonlySet<string>} pinned
 * @property {ReadonlySet<string>} hidden
 * @property {ReadonlySet<string>} sticky
 * @property {ReadonlyMap<string, string>} keptBy  The topic that keeps a message, by its id.
 * @property {string} reason  Why the filter could not do its work.
 * @property {number | null} threshold  What a message's similarity is held against; null: not known.
 * @property {boolean} isOwnThreshold  The user moved it for this chat.
 * @property {boolean} isKnown  Whether the server has said what is picked.
 */

/** @type {PanelState} */
export const NOTHING_KNOWN = Object.freeze({
  topics: [], stickyCount: 0, active: [], isOn: true, total: 0, messageIds: null,
  fellBack: false, status: "", pinned: new Set(), hidden: new Set(), sticky: new Set(),
  keptBy: new Map(), reason: "", threshold: null, isOwnThreshold: false, isKnown: false,
});

/**
 * The state after a result or an event of the plugin; what it does not mention stays.
 * @param {PanelState} state
 * @param {Record<string, any>} news
 * @returns {PanelState}
 */
export function withNews(state, news) {
  const next = { ...state };
  if (Array.isArray(news.topics)) Object.assign(next, topicsOf(news.topics, news.active_topics ?? state.active));
  if (Array.isArray(news.active_topics)) {
    next.active = news.active_topics.map(String);
    next.isKnown = true;
  }
  if (typeof news.embedding_search === "boolean") next.isOn = news.embedding_search;
  if (typeof news.total_messages === "number") next.total = news.total_messages;
  if (typeof news.threshold === "number") next.threshold = news.threshold;
  if (typeof news.threshold_is_own === "boolean") next.isOwnThreshold = news.threshold_is_own;
  if (typeof news.fell_back === "boolean") next.fellBack = news.fell_back;
  if (typeof news.status === "string") next.status = news.status;
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
  const labels = new Set(state.topics.map((topic) => topic.label));
  return state.active.filter((label) => !labels.has(label));
}

/** The status line for where there is little room: `5 of 14`. @param {string} status */
export function shortStatus(status) {
  return status.startsWith("No message") ? "No match" : status.split(" messages in context")[0];
}

/** @param {Record<string, string[]>} keptBy */
function topicById(keptBy) {
  return new Map(Object.entries(keptBy).flatMap(([label, ids]) => ids.map((id) => [id, label])));
}

/**
 * @param {any[]} stored
 * @param {any[]} active
 */
function topicsOf(stored, active) {
  const named = stored.filter((topic) => topic && typeof topic.label === "string");
  const sticky = named.filter((topic) => topic.sticky);
  return {
    topics: named.filter((topic) => !topic.sticky && isShown(topic, active)).map((topic) => ({ ...topic, id: String(topic.id ?? topic.label) })),
    stickyCount: sticky.reduce((sum, topic) => sum + (topic.message_ids?.length || topic.count || 0), 0),
  };
}

/**
 * Parts of a wider topic have no bubble of their own, unless they are picked.
 * @param {any} topic
 * @param {any[]} active
 */
function isShown(topic, active) {
  return !topic.parent_id || active.includes(topic.label);
}
