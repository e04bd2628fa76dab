// @ts-check
/** What the page says of the atlas, in words. */

import { counted, messagesCounted, numbered, visible } from "../lib/text.js";

/** @typedef {import("./atlas.js").Atlas} Atlas */
/** @typedef {import("./atlas.js").Place} Place */
/** @typedef {{ title: string, words: string }} Notice  Said in place of a map; an empty title: nothing is. */

/** `3 chats`. @param {number} count */
export function chatsCounted(count) {
  return counted(count, "chat");
}

/** `14 messages in 3 chats`. @param {import("./atlas.js").Topic} topic */
export function sizeInWords({ now, chats }) {
  return `${messagesCounted(now)} in ${chatsCounted(new Set(chats.map(({ chat_id: id }) => id)).size)}`;
}

/**
 * How much there is, and how much of it time and search leave.
 * @param {Atlas} atlas
 * @param {import("./atlas.js").Theme | undefined} theme  The one that one is in.
 * @param {number} drawn  How many topics the map shows.
 */
export function factsOf(atlas, theme, drawn) {
  const all = theme ? theme.topics : [...atlas.topics.values()];
  const left = all.filter(({ now }) => now > 0);
  if (!left.length) return "";
  const topics = `${counted(left.length, "topic")}${left.length < all.length ? ` of ${numbered(all.length)}` : ""}`;
  if (theme) return `${topics} · ${messagesCounted(theme.now)}`;
  const several = atlas.themes.filter((one) => one.topics.filter(({ now }) => now > 0).length > 1).length;
  const themes = several ? ` · ${counted(several, "theme")}` : "";
  const rest = drawn < all.length && !atlas.isNarrowed ? ` · the ${numbered(drawn)} largest are drawn` : "";
  return `${topics}${themes} · ${messagesCounted(atlas.messages)} in ${chatsCounted(atlas.chats)}${rest}`;
}

/** @param {Atlas | null} atlas @param {Place} place @param {{ isAbout: boolean, problem: string, isOpen: boolean }} state @returns {Notice} */
export function noticeOf(atlas, place, { isAbout, problem, isOpen }) {
  if (!atlas && problem) return { title: "Couldn’t get the topics", words: problem };
  if (!atlas) return { title: isOpen ? "Looking at your chats…" : "Waiting for the server…", words: "" };
  if (!atlas.topics.size && atlas.pending) {
    return { title: `Reading ${chatsCounted(atlas.pending)}…`, words: "Topics appear here as they are found, newest chats first." };
  }
  if (!atlas.topics.size && atlas.read) {
    return { title: "No topics to show", words: `${chatsCounted(atlas.read)} read. Muted topics and hidden messages are not on the map, nor is what belongs to no topic.` };
  }
  if (!atlas.topics.size) {
    return { title: "No topics yet", words: "What your chats are about appears here. Import chats from the list of chats, or begin one." };
  }
  if (atlas.found.length || !isAbout) return { title: "", words: "" };
  const time = place.since || place.until ? " in this time" : "";
  return { title: "Nothing found", words: place.query ? `No topic is about “${visible(place.query)}”${time}.` : `No messages${time}.` };
}
