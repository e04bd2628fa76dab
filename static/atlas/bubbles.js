// @ts-check
/** Bubbles of topics on the map: links that shrink in place when time or search leave less of them. */

import { numbered, visible } from "../lib/text.js";
import { addressOf } from "./atlas.js";
import { sizeInWords } from "./facts.js";

/** @typedef {import("./atlas.js").Topic} Topic */

/** Of a bubble's width: a disc stays large enough to be seen. */
const LEAST_SHARE = 0.3;

/** A bubble without a topic. */
export function newBubble() {
  const entry = document.createElement("li");
  const bubble = document.createElement("a");
  bubble.className = "bubble";
  bubble.draggable = false;
  for (const name of ["bubble-label", "bubble-count"]) {
    const words = document.createElement("span");
    words.className = name;
    words.ariaHidden = "true";
    bubble.append(words);
  }
  /** @type {HTMLElement} */ (bubble.firstElementChild).dir = "auto";
  entry.append(bubble);
  return entry;
}

/**
 * Shows a topic in its bubble; what is not kept stays as a ring, out of reach.
 * @param {HTMLElement} entry @param {Topic} topic @param {boolean} isHere  Its messages are shown.
 */
export function showBubble(entry, topic, isHere) {
  if (!isNews(entry, [topic.label, topic.hue, topic.count, topic.now, isHere])) return;
  const bubble = /** @type {HTMLAnchorElement} */ (entry.firstElementChild);
  const [label, count] = /** @type {HTMLCollectionOf<HTMLElement>} */ (bubble.children);
  entry.inert = topic.now === 0;
  bubble.dataset.topic = topic.id;
  bubble.dataset.hue = topic.hue;
  bubble.dataset.count = String(topic.count);
  bubble.href = addressOf({ topic: topic.id });
  bubble.ariaLabel = `${visible(topic.label)}, ${sizeInWords(topic)}`;
  bubble.style.setProperty("--share", Math.max(LEAST_SHARE, Math.sqrt(Math.min(1, topic.now / Math.max(1, topic.count)))).toFixed(3));
  if (isHere) bubble.ariaCurrent = "true";
  else bubble.removeAttribute("aria-current");
  // The map shows as much of it as there is room for.
  if (isNews(label, [topic.label])) label.textContent = visible(topic.label);
  count.textContent = numbered(topic.now);
}

/** @type {WeakMap<Element, string>} */
const shown = new WeakMap();

/**
 * Whether an element shows something else: writing what is there already costs a layout of it, and
 * there may be hundreds.
 * @param {Element} element @param {readonly unknown[]} values
 */
export function isNews(element, values) {
  const words = JSON.stringify(values);
  const isOther = shown.get(element) !== words;
  shown.set(element, words);
  return isOther;
}

/**
 * Makes a list hold one entry for each value, in order; entries stay with their values.
 * @template {{ id: string }} T
 * @param {Element} list
 * @param {readonly T[]} values
 * @param {() => HTMLElement} make
 * @param {(entry: HTMLElement, value: T) => void} show
 */
export function keep(list, values, make, show) {
  const before = new Map([...list.children].map((entry) => [/** @type {HTMLElement} */ (entry).dataset.key, /** @type {HTMLElement} */ (entry)]));
  const entries = values.map((value) => {
    const entry = before.get(value.id) ?? make();
    before.delete(value.id);
    entry.dataset.key = value.id;
    show(entry, value);
    return entry;
  });
  for (const entry of before.values()) entry.remove();
  for (const [i, entry] of entries.entries()) {
    // Moving an element takes its focus, and animations that it has.
    if (list.children[i] !== entry) list.insertBefore(entry, list.children[i] ?? null);
  }
}
