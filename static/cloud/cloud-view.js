// @ts-check
/** Keeps the bubbles on the page the same as the topics in the state, each bubble by its id. */

import { hueOf } from "./hues.js";
import { copyOf } from "../lib/from-template.js";
import { messagesCounted, numbered, visible } from "../lib/text.js";
import { goneTopics, partsOfTopic } from "./topic-state.js";

const LEAVING_MS = 260;

/**
 * @param {HTMLElement} root  The `.topics` element.
 * @param {import("./topic-state.js").PanelState} state
 */
export function showCloud(root, state) {
  const cloud = /** @type {import("./bubble-cloud.js").BubbleCloud} */ (root.querySelector("bubble-cloud"));
  const gone = goneTopics(state);
  const before = new Map(bubblesOf(cloud).map((bubble) => [bubble.dataset.topic ?? "", bubble]));
  const template = /** @type {HTMLTemplateElement} */ (root.querySelector(".bubble-template"));
  for (const topic of state.topics) {
    const bubble = before.get(topic.id) ?? copyOf(template);
    before.delete(topic.id);
    const isActive = state.active.includes(topic.label);
    showBubble(bubble, topic, isActive, state);
    showOpener(bubble, topic, topic.id === state.inside ? 0 : partsOfTopic(state, topic.id).length);
    if (!bubble.isConnected) cloud.append(bubble);
  }
  for (const bubble of before.values()) leave(bubble);
  root.querySelector(".cloud-empty")?.toggleAttribute("hidden", state.topics.length > 0);
  const key = `cloud:${root.dataset.chatId}${state.inside && `:${state.inside}`}`;
  if (cloud.dataset.remember !== undefined && cloud.dataset.remember !== key) cloud.dataset.remember = key;
  const above = /** @type {HTMLElement | null} */ (root.querySelector(".cloud-inside"));
  if (above) above.hidden = !state.inside;
  cloud.layout?.();
  showGone(root, gone);
}

/** @param {Element} cloud @returns {HTMLElement[]} */
export function bubblesOf(cloud) {
  return [...cloud.querySelectorAll(".bubble:not([data-leaving])")].map((bubble) => /** @type {HTMLElement} */ (bubble));
}

/** @param {Element} bubble */
export function inputOf(bubble) {
  return /** @type {HTMLInputElement} */ (bubble.querySelector("input"));
}

/**
 * @param {HTMLElement} bubble
 * @param {import("./topic-state.js").Topic} topic
 * @param {boolean} isActive
 * @param {import("./topic-state.js").PanelState} state
 */
function showBubble(bubble, { id, label, count }, isActive, { colours, summedUp, silent }) {
  const input = inputOf(bubble);
  const shown = visible(label);
  bubble.dataset.topic = id;
  bubble.dataset.hue = colours.get(id) ?? "";
  bubble.dataset.count = String(count);
  const why = silent.get(id) ?? "";
  const gone = why || behindInWords(Number(summedUp.get(id) ?? 0), count);
  bubble.toggleAttribute("data-silent", Boolean(why));
  bubble.title = gone ? `${shown}: ${gone}` : shown;
  input.value = label;
  input.checked = isActive;
  input.setAttribute("aria-label", [shown, messagesCounted(count), gone].filter(Boolean).join(", "));
  setText(bubble, ".bubble-label", shown);
  setText(bubble, ".bubble-count", numbered(count));
}

/**
 * How much of a topic stands before a summary or a clearing.
 * @param {number} behind @param {number} count
 */
export function behindInWords(behind, count) {
  if (!behind) return "";
  return behind < count ? `${behind} no longer sent` : "none sent any more";
}

/** The button that shows the parts of a topic. @param {HTMLElement} bubble @param {{ label: string }} topic @param {number} parts */
function showOpener(bubble, { label }, parts) {
  const button = /** @type {HTMLElement | null} */ (bubble.querySelector(".bubble-open"));
  if (!button) return;
  button.hidden = parts < 1;
  button.textContent = `${parts} parts ›`;
  button.title = `Show ${parts} parts of ${visible(label)}`;
  button.setAttribute("aria-label", button.title);
}

/** Lets a bubble fade; from now on it is there for no one but the eye. @param {HTMLElement} bubble */
function leave(bubble) {
  bubble.dataset.leaving = "";
  bubble.inert = true;
  bubble.ariaHidden = "true";
  setTimeout(() => bubble.remove(), LEAVING_MS);
}

/**
 * @param {HTMLElement} root
 * @param {readonly string[]} labels
 */
function showGone(root, labels) {
  const box = /** @type {HTMLElement} */ (root.querySelector(".gone"));
  const template = /** @type {HTMLTemplateElement} */ (root.querySelector(".gone-template"));
  box.hidden = labels.length === 0;
  box.querySelector("ul")?.replaceChildren(
    ...labels.map((label) => {
      const line = copyOf(template);
      line.dataset.label = label;
      line.dataset.hue = String(hueOf(label));
      setText(line, ".gone-label", visible(label));
      setText(line, ".visually-hidden", ` ${visible(label)} from the filter`);
      return line;
    }),
  );
}

/** @param {Element} parent @param {string} selector @param {string} text */
function setText(parent, selector, text) {
  const element = parent.querySelector(selector);
  if (element && element.textContent !== text) element.textContent = text;
}
