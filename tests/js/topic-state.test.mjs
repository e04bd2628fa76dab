import assert from "node:assert/strict";
import { test } from "node:test";
import { goneTopics, inside, NOTHING_KNOWN, withNews } from "../../static/cloud/topic-state.js";

const TOPICS = [
  { label: "LangGraph", count: 4 },
  { label: "Async", count: 2 },
  { label: "Instructions & Preferences", sticky: true, count: 2, message_ids: ["a", "b"] },
];
const ids = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `m${i}`);
const known = withNews(NOTHING_KNOWN, {
  topics: TOPICS, active_topics: [], embedding_search: true, total_messages: 14,
});

test("the status line is the plugin's, word for word, until it says another", () => {
  const picked = withNews(known, { active_topics: ["LangGraph"], status: "5 of 14 messages in context" });
  assert.equal(picked.status, "5 of 14 messages in context");
  assert.equal(withNews(picked, { total_messages: 15 }).status, picked.status);
  assert.equal(NOTHING_KNOWN.status, "");
});

test("new topics keep the selection, and a picked one that vanished is gone, not dropped", () => {
  const picked = withNews(known, { active_topics: ["LangGraph", "Async"], message_ids: ids(5) });
  const renewed = withNews(picked, { topics: [{ label: "Async", count: 3 }], total_messages: 16 });
  assert.deepEqual(renewed.active, ["LangGraph", "Async"]);
  assert.deepEqual(goneTopics(renewed), ["LangGraph"]);
});

test("the sticky topic is counted, and is no bubble", () => {
  assert.equal(known.stickyCount, 2);
  assert.deepEqual(known.topics.map((topic) => topic.label), ["LangGraph", "Async"]);
});

test("clearing the filter forgets which messages it kept", () => {
  const picked = withNews(known, { active_topics: ["LangGraph"], message_ids: ids(5) });
  assert.equal(withNews(picked, { active_topics: [] }).messageIds, null);
});

test("a problem is shown until the next state has none", () => {
  const troubled = withNews(known, { active_topics: ["Async"], message_ids: ids(14), problem: "no embedder" });
  assert.equal(troubled.reason, "no embedder");
  assert.equal(withNews(troubled, { total_messages: 15 }).reason, "no embedder");
  assert.equal(withNews(troubled, { active_topics: [], message_ids: ids(14), problem: "" }).reason, "");
});

test("each kept message knows its topic", () => {
  const picked = withNews(known, { active_topics: ["Async"], kept_by: { Async: ["m1", "m2"] } });
  assert.equal(picked.keptBy.get("m2"), "Async");
});

test("states are values: the one before is not changed", () => {
  const before = JSON.stringify(known);
  withNews(known, { active_topics: ["Async"], topics: [], pinned: ["a"] });
  assert.equal(JSON.stringify(known), before);
});

test("the short status is the server's", () => {
  const news = { status: "5 of 14 messages in context", short_status: "5 of 14" };
  assert.equal(withNews(known, news).shortStatus, "5 of 14");
  assert.equal(withNews(withNews(known, news), { pinned: [] }).shortStatus, "5 of 14");
});

test("a topic with parts opens into them, and what is picked inside has a bubble outside", () => {
  const topics = [
    { id: "p", label: "Power", count: 5 },
    { id: "a", label: "Panels", count: 3, parent_id: "p" },
    { id: "b", label: "Battery", count: 2, parent_id: "p" },
    { id: "q", label: "Bread", count: 1 },
  ];
  const labels = (/** @type {any} */ state) => state.topics.map((/** @type {any} */ topic) => topic.label);
  const known = withNews(NOTHING_KNOWN, { topics, active_topics: [] });
  assert.deepEqual(labels(known), ["Power", "Bread"]);
  const opened = inside(known, "p");
  assert.deepEqual(labels(opened), ["Power", "Panels", "Battery"]);
  const picked = withNews(opened, { active_topics: ["Panels"] });
  assert.deepEqual(labels(picked), ["Power", "Panels", "Battery"]);
  assert.deepEqual(goneTopics(picked), []);
  assert.deepEqual(labels(inside(picked, "")), ["Power", "Panels", "Bread"]);
  const without = withNews(opened, { topics: topics.slice(3) });
  assert.deepEqual([without.inside, labels(without)], ["", ["Bread"]]);
});
