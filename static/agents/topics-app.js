// @ts-check
/** The bubbles of a chat within a client of MCP (an MCP App): a page that talks to its host only. */

import { fit, roomFor } from "../cloud/fit.js";
import { coloursOf } from "../cloud/hues.js";
import { cloud } from "../cloud/pack.js";

/** @typedef {{ label: string, count: number, id: string, parent_id?: string }} Topic */

const VERSION = "2026-01-26";
const GAP = 6;
const LOWEST_ROOM = 220;
const HUES = [25, 50, 78, 108, 140, 168, 196, 228, 256, 284, 312, 340];

const place = /** @type {HTMLElement} */ (document.querySelector(".cloud"));
const told = /** @type {HTMLElement} */ (document.querySelector("[role=status]"));
const use = /** @type {HTMLButtonElement} */ (document.querySelector(".use"));

/** @type {Map<number, (message: { result?: any, error?: { message: string } }) => void>} */
const waiting = new Map();
/** @type {Set<string>} */
const picked = new Set();
/** @type {Topic[]} */
let topics = [];
let chat = "";
let asked = 0;
let takesContext = false;

/** @param {object} message */
const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

/** Asks the host, and gives what it answers. @param {string} method @param {object} params @returns {Promise<any>} */
function ask(method, params) {
  const id = ++asked;
  send({ id, method, params });
  return new Promise((resolve, reject) => {
    waiting.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)));
  });
}

/** What a tool gives. @param {string} name @param {object} given */
async function tool(name, given) {
  const result = await ask("tools/call", { name, arguments: given });
  if (result.isError) throw new Error(result.content?.[0]?.text ?? `${name} failed`);
  return contentOf(result);
}

/** @param {any} result */
function contentOf(result) {
  return result.structuredContent ?? JSON.parse(result.content?.[0]?.text ?? "{}");
}

/** The topics of one chat, or of all: there each counts the chats that have it. @param {any} found @returns {Topic[]} */
function topicsIn(found) {
  if (found.topics) {
    return found.topics.map((/** @type {any} */ topic) => ({
      ...topic,
      id: topic.id ?? topic.label,
      count: topic.count ?? topic.messages ?? 1,
    }));
  }
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { topics: labels } of found.chats ?? []) {
    for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].map(([label, count]) => ({ label, count, id: label }));
}

/** @param {any} found */
function show(found) {
  topics = topicsIn(found).toSorted((a, b) => b.count - a.count).slice(0, 24);
  chat = found.chat_id ?? "";
  picked.clear();
  for (const label of found.active_topics ?? []) picked.add(label);
  told.textContent = topics.length ? (found.status ?? "") : "No topics yet.";
  use.hidden = !chat || !topics.length;
  draw();
}

function draw() {
  const width = place.clientWidth;
  const colours = coloursOf(topics);
  const least = topics.map(({ label }) => roomFor(label, 26));
  const { sizes, places } = cloud(topics.map(({ count }) => count), width, GAP, least);
  const lowest = Math.max(0, ...places.map(({ y }, i) => y + sizes[i]));
  const highest = Math.min(0, ...places.map(({ y }, i) => y - sizes[i]));
  place.style.height = `${Math.max(LOWEST_ROOM, lowest - highest + 2 * GAP)}px`;
  const middle = (place.offsetHeight - lowest - highest) / 2;
  place.replaceChildren(
    ...topics.map(({ label, count, id }, i) => {
      const bubble = document.createElement("button");
      const name = document.createElement("span");
      const shown = fit(label, 2 * sizes[i]);
      name.textContent = label;
      name.style.fontSize = `${shown.size}px`;
      name.style.maxWidth = `${shown.width}px`;
      bubble.append(name, Object.assign(document.createElement("small"), { textContent: String(count) }));
      bubble.type = "button";
      bubble.title = label;
      bubble.ariaPressed = String(picked.has(label));
      bubble.style.setProperty("--hue", String(HUES[parseInt(colours.get(id) ?? "0", 10)]));
      bubble.style.width = bubble.style.height = `${2 * sizes[i]}px`;
      bubble.style.left = `${width / 2 + places[i].x - sizes[i]}px`;
      bubble.style.top = `${middle + places[i].y - sizes[i]}px`;
      bubble.addEventListener("click", () => toggle(bubble, label));
      return bubble;
    }),
  );
}

/** @param {HTMLElement} bubble @param {string} label */
async function toggle(bubble, label) {
  if (!picked.delete(label)) picked.add(label);
  bubble.ariaPressed = String(picked.has(label));
  const labels = [...picked];
  await attempt(async () => {
    if (takesContext) await ask("ui/update-model-context", { content: [{ type: "text", text: inWords(labels) }] });
    if (!chat) return "";
    const found = await tool("what_if", { chat_id: chat, topics: labels, max_tokens: 1000 });
    return `${found.status} · ${found.tokens.toLocaleString("en")} of ${found.unfiltered.toLocaleString("en")} tokens`;
  }, labels);
}

/** What the model is told. @param {string[]} labels */
function inWords(labels) {
  const where = chat ? `of the chat ${chat}` : "of all chats";
  if (!labels.length) return `The user picked no topics ${where}.`;
  const how = chat ? " read_chat with these topics gives their messages." : "";
  return `The user picked these topics ${where}: ${labels.join(", ")}.${how}`;
}

/** Tells what came of it, unless other topics were picked since. @param {() => Promise<string>} work @param {string[]} labels */
async function attempt(work, labels) {
  const isNow = () => labels.length === picked.size && labels.every((label) => picked.has(label));
  try {
    const words = await work();
    if (isNow()) told.textContent = words;
  } catch (error) {
    if (isNow()) told.textContent = error instanceof Error ? error.message : String(error);
  }
}

/** @param {any} context */
function dress(context) {
  if (context?.theme) document.documentElement.style.colorScheme = context.theme;
}

/** What the host says by itself. @type {Record<string, (params: any) => void>} */
const news = {
  "ui/notifications/tool-result": (result) => {
    if (result.isError) told.textContent = result.content?.[0]?.text ?? "";
    else show(contentOf(result));
  },
  "ui/notifications/host-context-changed": dress,
};

window.addEventListener("message", ({ source, data }) => {
  if (source !== window.parent || data?.jsonrpc !== "2.0") return;
  if (data.method && data.id !== undefined) send({ id: data.id, result: {} }); // ping, or the end
  else if (data.method) news[data.method]?.(data.params);
  else {
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  }
});
window.addEventListener("resize", draw);
new ResizeObserver(() => {
  send({ method: "ui/notifications/size-changed", params: { height: document.documentElement.offsetHeight } });
}).observe(document.documentElement);
use.addEventListener("click", () => {
  const labels = [...picked];
  attempt(async () => (await tool("set_filter", { chat_id: chat, topics: labels })).status, labels);
});

ask("ui/initialize", {
  protocolVersion: VERSION,
  appInfo: { name: "smart-context-topics", version: "1" },
  appCapabilities: {},
}).then(({ hostContext, hostCapabilities }) => {
  dress(hostContext);
  takesContext = Boolean(hostCapabilities?.updateModelContext);
  send({ method: "ui/notifications/initialized", params: {} });
});
