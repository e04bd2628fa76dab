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
  const themes = atlas.themes.filter(({ now, id }) => now > 0 && (!place.theme || id === place.theme));
  keep(list, themes, newSection, (section, theme) => {
    const [head, rows] = /** @type {HTMLCollectionOf<HTMLElement>} */ (section.children);
    const link = /** @type {HTMLAnchorElement} */ (head.firstElementChild);
    if (isNews(section, [theme.label, theme.hue])) {
      section.dataset.hue = theme.hue;
      link.textContent = visible(theme.label);
      link.href = addressOf({ theme: theme.id, isList: true });
    }
    showRows(rows, theme.topics.filter(({ now }) => now > 0), place);
  });
}

/** @param {HTMLElement} list @param {readonly Topic[]} topics @param {Place} place */
export function showRows(list, topics, place) {
  const most = Math.max(1, ...topics.map(({ now }) => now));
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
