// @ts-check
/** The atlas as the page shows it: themes and topics, of which a time or a search keeps some. */

/**
 * @typedef {object} ChatTopic
 * @property {string} chat_id
 * @property {string} title
 * @property {string} topic_id
 * @property {string} label
 * @property {string} colour  As in the chat.
 * @property {number} messages
 * @property {string | null} first_at
 * @property {string | null} last_at
 * @property {readonly (readonly [number, number])[]} days  Days since 1970, each with its number of messages.
 */
/**
 * @typedef {object} StoredTopic
 * @property {string} id
 * @property {string} label
 * @property {string} theme
 * @property {readonly ChatTopic[]} chats
 * @property {number} messages
 * @property {string | null} first_at
 * @property {string | null} last_at
 */
/** @typedef {{ id: string, label: string, topics: readonly string[], chats: number, messages: number }} StoredTheme */
/**
 * @typedef {object} Values  A result of `smart_context.atlas`.
 * @property {readonly StoredTheme[]} themes
 * @property {readonly StoredTopic[]} topics
 * @property {number} chats
 * @property {number} messages
 * @property {number} pending
 * @property {number} [chats_read]
 */

/**
 * @typedef {object} Topic
 * @property {string} id
 * @property {string} label
 * @property {string} themeId
 * @property {string} hue
 * @property {number} count  Its messages in `all` chats.
 * @property {number} now  Those in `chats` that time and search keep.
 * @property {readonly ChatTopic[]} chats
 * @property {readonly ChatTopic[]} all
 */
/** @typedef {{ id: string, label: string, hue: string, count: number, now: number, topics: Topic[] }} Theme */
/**
 * @typedef {object} Atlas
 * @property {Theme[]} themes
 * @property {Map<string, Topic>} topics
 * @property {Topic[]} found  What is kept, best or largest first.
 * @property {number} chats
 * @property {number} messages
 * @property {number} pending
 * @property {number} read  How many chats were read.
 * @property {boolean} isNarrowed
 */

/**
 * @param {Values} whole  All that there is.
 * @param {Values} [kept]  What a time or a search keeps of it.
 * @returns {Atlas}
 */
export function atlasOf(whole, kept) {
  const colours = coloursIn(whole.topics);
  const now = new Map((kept ?? whole).topics.map((topic) => [topic.id, topic]));
  const topics = new Map(whole.topics.map(({ id, label, theme, chats, messages }) => {
    const rest = now.get(id);
    const hue = colours.get(id) ?? "";
    const left = { now: rest?.messages ?? 0, chats: rest?.chats ?? chats };
    return [id, { id, label, themeId: theme, hue, count: messages, all: chats, ...left }];
  }));
  const themes = whole.themes.map(({ id, label, messages }) => {
    const own = [...topics.values()].filter(({ themeId }) => themeId === id);
    const left = (kept ?? whole).themes.find((theme) => theme.id === id);
    return { id, label, hue: own[0]?.hue ?? "", count: messages, now: left?.messages ?? 0, topics: own };
  });
  const { chats, messages } = kept ?? whole;
  const found = [...now.keys()].flatMap((id) => topics.get(id) ?? []);
  const filled = themes.filter((theme) => theme.topics.length).sort((a, b) => b.count - a.count);
  const { pending, chats_read: read = 0 } = whole;
  return { themes: filled, topics, found, chats, messages, pending, read, isNarrowed: kept !== undefined };
}

/** What is added to a hue that another topic has already. */
const SHADES = ["", " s1", " s2", " s3", " s4", " s5", " s6"];

/**
 * The colours of topics by id: each has that of the chat with most of its messages, where one knows it by it.
 * Where a larger topic has the same, it has another shade of its hue, as long as there is one.
 * @param {readonly StoredTopic[]} topics  Largest first.
 * @returns {Map<string, string>}
 */
function coloursIn(topics) {
  /** @type {Set<string>} */
  const taken = new Set();
  return new Map(topics.map(({ id, chats }) => {
    const [{ colour: own }] = chats.toSorted((a, b) => b.messages - a.messages);
    const others = SHADES.map((shade) => `${Number.parseInt(own, 10)}${shade}`);
    const colour = [own, ...others].find((one) => !taken.has(one)) ?? own;
    taken.add(colour);
    return [id, colour];
  }));
}

/**
 * The themes with their largest topics, as many as a room can show; each theme with one at least, and none with all.
 * @param {readonly Theme[]} themes
 * @param {number} most
 * @param {readonly Topic[]} [found]  Shown whatever their size.
 * @returns {Theme[]}
 */
export function drawn(themes, most, found = []) {
  const shown = new Set([...themes.map(({ topics }) => topics[0]), ...found.slice(0, most / 4)]);
  const others = themes.flatMap(({ topics }) => topics.filter((topic) => !shown.has(topic)));
  others.sort((a, b) => b.count - a.count);
  for (const topic of others.slice(0, Math.max(0, most - shown.size))) shown.add(topic);
  return themes.map((theme) => {
    return { ...theme, topics: theme.topics.filter((topic) => shown.has(topic)).slice(0, MOST_IN_THEME) };
  });
}

/** @typedef {{ theme: string, topic: string, query: string, since: string, until: string, isList: boolean }} Place  Where in the atlas one is. */

const MOST_IN_THEME = 120;
const NAMES = /** @type {const} */ ({ theme: "theme", topic: "topic", query: "q", since: "since", until: "until" });
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The place that an address names. @param {string} search  As `location.search`. @returns {Place} */
export function placeIn(search) {
  const params = new URLSearchParams(search);
  const date = (/** @type {string} */ name) => (DATE.test(params.get(name) ?? "") ? (params.get(name) ?? "") : "");
  const topic = params.get("topic") ?? "";
  return {
    theme: topic ? "" : (params.get("theme") ?? ""),
    topic,
    query: params.get("q") ?? "",
    since: date("since"),
    until: date("until"),
    isList: params.get("view") === "list",
  };
}

/** Whether a theme is one topic: the topic stands for it. @param {Theme} theme */
export function isSingle({ topics, count }) {
  return topics.length === 1 && topics[0].count === count;
}

/** The address of a place; what is not given is as at the beginning. @param {Partial<Place>} place */
export function addressOf(place) {
  const params = new URLSearchParams();
  for (const [key, name] of Object.entries(NAMES)) {
    const value = place[/** @type {keyof typeof NAMES} */ (key)];
    if (value && !(key === "theme" && place.topic)) params.set(name, value);
  }
  if (place.isList) params.set("view", "list");
  return `/topics${params.size ? `?${params}` : ""}`;
}

/** Whose days are meant wherever the server counts or compares them. */
export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** What narrows the atlas at a place, as the commands take it. @param {Place} place */
export function narrowing({ query, since, until }) {
  return Object.fromEntries(Object.entries({ query, since, until }).filter(([, value]) => value));
}
