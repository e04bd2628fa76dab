import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, atlasOf, drawn, narrowing, placeIn } from "../../static/atlas/atlas.js";
import { axisNow, axisOf, countsIn, datesOf, daysOf, dayInWords, periodInWords, periodsBetween, spanInWords } from "../../static/atlas/timeline.js";
import { roomOfName } from "../../static/atlas/theme-map.js";
import { sectionsOf } from "../../static/atlas/topic-list.js";
import { byChat } from "../../static/atlas/topic-sheet.js";
import { fitShort, widthInEms } from "../../static/cloud/fit.js";

const NOW = Date.UTC(2025, 5, 30);
const dayOf = (time) => Math.floor(Date.parse(time) / 86_400_000);
const chat = (id, messages, first, last = first) => {
  const days = [[first, messages - Number(last !== first)], [last, 1]].slice(0, last === first ? 1 : 2);
  return { chat_id: id, title: id, topic_id: "t", label: "x", messages, first_at: first, last_at: last, days: days.flatMap(([time, count]) => (Number.isNaN(dayOf(time)) ? [] : [[dayOf(time), count]])) };
};
const topic = (id, theme, messages, chats = [chat("c", messages, "2024-03-05T10:00:00Z")]) => ({ id, label: id, theme, chats, messages, first_at: null, last_at: null });
const WHOLE = {
  themes: [{ id: "small", label: "Small", topics: ["c"], chats: 1, messages: 2 }, { id: "large", label: "Large", topics: ["a", "b"], chats: 1, messages: 9 }],
  topics: [topic("a", "large", 6), topic("b", "large", 3), topic("c", "small", 2)],
  chats: 2, messages: 11, pending: 0,
};
const PLACE = { theme: "", topic: "", query: "", since: "", until: "", isList: false };

test("an address leads to the place that it was made for", () => {
  for (const place of [
    PLACE,
    { ...PLACE, theme: "a&b", query: "50 % of = this", isList: true },
    { ...PLACE, topic: "<i>", since: "2024-01-01", until: "2024-12-31" },
  ]) {
    assert.deepEqual(placeIn(new URL(addressOf(place), "http://localhost").search), place);
  }
});

test("what is no date in an address is left out", () => {
  assert.deepEqual(placeIn("?since=yesterday&until=2024-01-01T00:00"), PLACE);
  assert.deepEqual(narrowing({ ...PLACE, query: "bread" }), { query: "bread" });
});

test("what time and search leave out stays on the map with nothing in it", () => {
  const kept = { ...WHOLE, topics: [topic("b", "large", 2)], themes: [{ id: "large", label: "Large", topics: ["b"], chats: 1, messages: 2 }], messages: 2 };
  const atlas = atlasOf(WHOLE, kept);
  assert.deepEqual(atlas.themes.map(({ id, now, count }) => [id, now, count]), [["large", 2, 9], ["small", 0, 2]]);
  assert.deepEqual([...atlas.topics.values()].map(({ id, now, count }) => [id, now, count]), [["a", 0, 6], ["b", 2, 3], ["c", 0, 2]]);
  assert.deepEqual(atlas.found.map(({ id }) => id), ["b"]);
});

test("a topic has the colour of the chat with most of its messages, and another shade of it where a larger one has it", () => {
  const said = (chatId, colour, messages) => ({ ...chat(chatId, messages, "2024-03-05"), colour });
  const own = [topic("a", "large", 6, [said("c1", "4", 2), said("c2", "7 s2", 4)]), topic("b", "large", 3, [said("c3", "7", 3)]), topic("c", "small", 2, [said("c4", "7", 2)])];
  const { themes, topics } = atlasOf({ ...WHOLE, topics: own });
  assert.deepEqual([...topics.values()].map((one) => one.hue), ["7 s2", "7", "7 s1"]);
  assert.deepEqual(themes.map((theme) => theme.hue), ["7 s2", "7 s1"]);
  const many = Array.from({ length: 9 }, (_, i) => topic(`t${i}`, "large", 9 - i, [said(`c${i}`, "7", 9 - i)]));
  const hues = [...atlasOf({ ...WHOLE, topics: many }).topics.values()].map(({ hue }) => hue);
  assert.equal(new Set(hues).size, 7);
  assert.deepEqual(hues.slice(7), ["7", "7"]);
});

test("the list has the topics that are a theme of their own after the others, under one heading", () => {
  const { themes } = atlasOf({ ...WHOLE, themes: [WHOLE.themes[1], { ...WHOLE.themes[0], label: "c" }] });
  const found = sectionsOf(themes).map(({ label, topics }) => [label, topics.map(({ id }) => id)]);
  assert.deepEqual(found, [["Large", ["a", "b"]], ["Other topics", ["c"]]]);
});

test("each theme has room for its name on the map, but for one that is a single bubble", () => {
  const [a, b] = WHOLE.topics.map((topic) => ({ ...topic, count: topic.messages }));
  const room = (label, topics) => roomOfName({ label, topics, count: topics.reduce((sum, { count }) => sum + count, 0) });
  assert.equal(room("a", [a]).cap, 0);
  const [short, long] = ["Food", "The agent that loses its state"].map((label) => room(label, [a, b]));
  assert.ok(short.cap > 0 && long.cap > short.cap && long.least > short.least);
});

test("a bubble with no room for a label has its first part, its first word, or the beginning of that, and its number only beside all of it", () => {
  const said = (label, diameter) => fitShort(label, diameter, widthInEms, 8.5).words;
  assert.equal(said("LangGraph & Checkpointer", 160), "LangGraph & Checkpointer");
  assert.equal(said("LangGraph & Checkpointer", 68), "LangGraph");
  assert.equal(said("Bread Internationalisation", 60), "Bread");
  assert.equal(said("Internationalisation", 60), "Internati…");
  assert.equal(said("Internationalisation", 20), "");
  const isCounted = [40, 60, 90].map((diameter) => fitShort("Bread", diameter, widthInEms, 8.5).isCounted);
  assert.deepEqual(isCounted, [false, true, true]);
});

test("a map with room for few shows one topic of each theme, then the largest, and what was found", () => {
  const { themes, topics } = atlasOf(WHOLE);
  const ids = (shown) => shown.map((theme) => theme.topics.map(({ id }) => id));
  assert.deepEqual(ids(drawn(themes, 2)), [["a"], ["c"]]);
  assert.deepEqual(ids(drawn(themes, 3)), [["a", "b"], ["c"]]);
  assert.deepEqual(ids(drawn(themes, 2, [topics.get("b"), topics.get("a")])), [["a"], ["c"]]);
  assert.deepEqual(ids(drawn(themes, 4, [topics.get("b")])), [["a", "b"], ["c"]]);
});

test("periods are days for weeks, months for years, and years for decades", () => {
  for (const [first, unit, words] of [["2025-06-10", "day", "10 June 2025"], ["2024-12-03", "week", "Week of 2 December 2024"], ["2022-02-03", "month", "February 2022"], ["2015-05-03", "quarter", "Apr–Jun 2015"], ["1999-01-01", "year", "1999"]]) {
    const axis = axisOf(daysOf([{ all: [chat("a", 2, first, "2025-06-29")] }]), NOW);
    assert.equal(axis.unit, unit);
    assert.equal(periodInWords(axis, 0), words);
    assert.ok(axis.starts.length <= 62);
  }
});

test("messages are counted once, wherever wrong clocks put them", () => {
  const all = [chat("a", 10, "2023-01-05T10:00:00Z", "2023-03-05T10:00:00Z"), chat("b", 4, "1970-01-01", "1970-01-02"), chat("c", 3, "2099-01-01"), chat("d", 5, "2025-01-09", "2023-06-01"), chat("e", 7, null), chat("f", 1, "no time")];
  const said = daysOf([{ all }]);
  const axis = axisOf(said, NOW);
  const counts = countsIn(axis, said);
  assert.equal(counts.reduce((sum, count) => sum + count, 0), 22);
  assert.equal(axisOf(daysOf([{ all: [chat("e", 7, null)] }]), NOW), null);
});

test("a new message leaves those of January in January", () => {
  const said = daysOf([{ all: [chat("a", 11, "2025-01-05T10:00:00Z", "2025-03-04T10:00:00Z")] }]);
  const counts = countsIn(axisOf(said, NOW), said);
  assert.deepEqual(counts.filter(Boolean), [10, 1]);
});

test("handles at the ends leave nothing out, and dates come back to their handles", () => {
  const axis = axisOf(daysOf([{ all: [chat("a", 2, "2023-01-05", "2025-06-01")] }]), NOW);
  const last = axis.starts.length - 1;
  assert.deepEqual(datesOf(axis, 0, last), { since: "", until: "" });
  for (const [from, to] of [[0, 0], [2, 5], [last, last], [0, last], [3, last]]) {
    const { since, until } = datesOf(axis, from, to);
    assert.deepEqual(periodsBetween(axis, since, until), [from, to]);
  }
  assert.deepEqual(datesOf(axis, 1, 2), { since: "2023-02-01", until: "2023-03-31" });
});

test("times are told in words, and nothing is told of none", () => {
  assert.equal(spanInWords("2023-03-05T10:00:00Z", "2025-06-02T12:00:00Z"), "Mar 2023 – Jun 2025");
  assert.equal(spanInWords("2023-03-05", "2023-03-09"), "Mar 2023");
  assert.equal(spanInWords(null, null), "");
  assert.equal(dayInWords("2023-03-05T10:00:00Z"), "5 Mar 2023");
  assert.equal(dayInWords("soon"), "");
});

test("a time is told by the reader's clock, on the day that counts it", () => {
  const before = process.env.TZ;
  process.env.TZ = "Asia/Shanghai";
  try {
    assert.equal(dayInWords("2026-12-31T23:30:00Z"), "1 Jan 2027");
    assert.equal(axisNow() - Date.now() > 7 * 3_600_000, true);
  } finally {
    process.env.TZ = before ?? "";
  }
});

test("messages are shown by chat, as they were said; those that a search found best first", () => {
  const said = [["b", "3"], ["a", "2"], ["b", "1"]].map(([chatId, id]) => ({ chat_id: chatId, message_id: id }));
  const ids = (chats) => chats.map((messages) => messages.map(({ message_id: id }) => id));
  assert.deepEqual(ids(byChat(said, false)), [["1", "3"], ["2"]]);
  assert.deepEqual(ids(byChat(said, true)), [["3", "1"], ["2"]]);
});
