import assert from "node:assert/strict";
import { test } from "node:test";
import { goneTopics, NOTHING_KNOWN, shortStatus, statusLine, unsentLine, withNews } from "../../static/topic-state.js";

const TOPICS = [
  { label: "LangGraph", count: 4 },
  { label: "Async", count: 2 },
  { label: "Instructions & Preferences", sticky: true, count: 2, message_ids: ["a", "b"] },
];
const ids = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `m${i}`);
const known = withNews(NOTHING_KNOWN, {
  topics: TOPICS, active_topics: [], embedding_search: true, total_messages: 14,
});

for (const [name, news, line] of /** @type {const} */ ([
  ["no filter", { active_topics: [], message_ids: ids(14) }, "All messages in context"],
  ["no filter, nothing said of ids", {}, "All messages in context"],
  ["a filter", { active_topics: ["LangGraph"], message_ids: ids(5), fell_back: false }, "5 of 14 messages in context"],
  ["a filter that keeps all", { active_topics: ["LangGraph"], message_ids: ids(14) }, "14 of 14 messages in context"],
  ["a fallback", { active_topics: ["X"], message_ids: ids(14), fell_back: true }, "No message matches; all 14 messages in context"],
  ["the switch off", { active_topics: [], embedding_search: false, message_ids: ids(14) }, "All messages in context"],
  ["hidden by hand", { hidden: ["m1"], active_topics: [], message_ids: ids(13) }, "13 of 14 messages in context"],
  ["a filter whose outcome is not known", { active_topics: ["LangGraph"] }, ""],
])) {
  test(`the status line with ${name}`, () => assert.equal(statusLine(withNews(known, news)), line));
}

test("before the server has spoken nothing is claimed", () => {
  assert.equal(statusLine(withNews(NOTHING_KNOWN, { topics: TOPICS })), "");
});

test("new topics keep the selection, and a picked one that vanished is gone, not dropped", () => {
  const picked = withNews(known, { active_topics: ["LangGraph", "Async"], message_ids: ids(5) });
  const renewed = withNews(picked, { topics: [{ label: "Async", count: 3 }], total_messages: 16 });
  assert.deepEqual(renewed.active, ["LangGraph", "Async"]);
  assert.deepEqual(goneTopics(renewed), ["LangGraph"]);
  assert.equal(statusLine(renewed), "5 of 16 messages in context");
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

test("the short status has the numbers", () => {
  assert.equal(shortStatus("5 of 14 messages in context"), "5 of 14");
  assert.equal(shortStatus("No message matches; all 14 messages in context"), "No match");
});

test("what a summary stands for is told beside the status, unless that counts already", () => {
  const compacted = withNews(known, { active_topics: [], message_ids: ids(4) });
  assert.equal(unsentLine(compacted), "10 of 14 are not sent: behind a summary, or failed");
  assert.equal(unsentLine(withNews(compacted, { message_ids: ids(13) })), "1 of 14 is not sent: behind a summary, or failed");
  for (const news of [{ message_ids: ids(14) }, { active_topics: ["LangGraph"] }, { hidden: ["m1"] }]) {
    assert.equal(unsentLine(withNews(compacted, news)), "");
  }
  assert.equal(unsentLine(known), "");
});
