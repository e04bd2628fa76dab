// @ts-check
/** Topics as a list: by theme, or what a search found, best first. */

import { visible } from "../lib/text.js";
import { addressOf } from "./atlas.js";
import { isNews, keep } from "./bubbles.js";
import { sizeInWords } from "./facts.js";
import { spanInWords } from "./timeline.js";

/** @typedef {import("./atlas.js").Topic} Topic */
/** @typedef {import("./atlas.js").Place} Place */

/** Shows themes with their topics. @param {HTMLElement} list @param {import("./atlas.js").Atlas} atlas @param {Place} place */
export function showByTheme(list, atlas, place) {
  const sections = sectionsOf(atlas.themes.filter(({ id }) => !place.theme || id === place.theme));
  const most = Math.max(...sections.flatMap(({ topics }) => topics.map(({ now }) => now)));
  keep(list, sections, newSection, (section, { id, label, hue, topics }) => {
    const [head, rows] = /** @type {HTMLCollectionOf<HTMLElement>} */ (section.children);
    const link = /** @type {HTMLAnchorElement} */ (head.firstElementChild);
    if (isNews(section, [label, hue, sections.length])) {
      if (hue) section.dataset.hue = hue;
      head.hidden = !id && sections.length === 1;
      link.textContent = visible(label);
      if (id) link.href = addressOf({ theme: id, isList: true });
    }
    showRows(rows, topics, place, most);
  });
}

/**
 * Themes of several topics, and the topics that are a theme of their own as one list after them.
 * @param {readonly import("./atlas.js").Theme[]} themes
 * @returns {{ id: string, label: string, hue: string, topics: Topic[] }[]}
 */
export function sectionsOf(themes) {
  const kept = themes.map((theme) => ({ ...theme, topics: theme.topics.filter(({ now }) => now > 0) }));
  const isAlone = (/** @type {import("./atlas.js").Theme} */ { label, topics }) => topics.length === 1 && topics[0].label === label;
  const single = kept.filter(isAlone).flatMap(({ topics }) => topics);
  const sections = kept.filter((theme) => theme.topics.length && !isAlone(theme));
  return single.length ? [...sections, { id: "", label: "Other topics", hue: "", topics: single }] : sections;
}

/**
 * @param {HTMLElement} list @param {readonly Topic[]} topics @param {Place} place
 * @param {number} [most]  The messages of a full bar.
 */
export function showRows(list, topics, place, most = Math.max(1, ...topics.map(({ now }) => now))) {
  keep(list, topics, newRow, (row, topic) => {
    const time = spanOf(topic);
    if (!isNews(row, [topic.label, topic.hue, topic.now, most, time, topic.id === place.topic])) return;
    const link = /** @type {HTMLAnchorElement} */ (row.firstElementChild);
    const [name, bar, facts, when] = /** @type {HTMLCollectionOf<HTMLElement>} */ (link.children);
    link.dataset.hue = topic.hue;
    link.dataset.topic = topic.id;
    link.href = addressOf({ topic: topic.id, isList: place.isList });
    if (topic.id === place.topic) link.ariaCurrent = "true";
    else link.removeAttribute("aria-current");
    name.textContent = visible(topic.label);
    bar.style.setProperty("--part", `${((100 * topic.now) / most).toFixed(1)}%`);
    facts.textContent = sizeInWords(topic);
    when.textContent = time;
  });
}

/** From the first to the last message of a topic, in words. @param {Topic} topic */
export function spanOf({ chats }) {
  const times = chats.flatMap((chat) => [chat.first_at, chat.last_at]).filter((time) => time !== null);
  times.sort();
  return spanInWords(times[0] ?? null, times[times.length - 1] ?? null);
}

function newSection() {
  const section = document.createElement("section");
  const head = document.createElement("h2");
  const link = document.createElement("a");
  link.dir = "auto";
  head.append(link);
  const rows = document.createElement("ul");
  rows.className = "topic-rows";
  section.append(head, rows);
  return section;
}

function newRow() {
  const row = document.createElement("li");
  const link = document.createElement("a");
  link.className = "topic-row";
  for (const name of ["topic-name", "topic-bar", "topic-facts", "topic-time"]) {
    const part = document.createElement("span");
    part.className = name;
    link.append(part);
  }
  /** @type {HTMLElement} */ (link.firstElementChild).dir = "auto";
  row.append(link);
  return row;
}
