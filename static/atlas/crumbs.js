// @ts-check
/** The way back: all topics, the theme, the topic. The last one is the page's heading. */

import { visible } from "../lib/text.js";
import { addressOf, isSingle } from "./atlas.js";

/**
 * @param {HTMLElement} list
 * @param {import("./atlas.js").Place} place
 * @param {import("./atlas.js").Theme | undefined} theme
 * @param {import("./atlas.js").Topic | undefined} topic
 */
export function showCrumbs(list, place, theme, topic) {
  const { isList } = place;
  /** @type {{ label: string, at: Partial<import("./atlas.js").Place> }[]} */
  const steps = [{ label: "Topics", at: { isList } }];
  if (theme && !(topic && isSingle(theme))) steps.push({ label: theme.label, at: { isList, theme: theme.id } });
  if (topic) steps.push({ label: topic.label, at: place });
  const words = steps.map(({ label }) => label).join("\n");
  if (list.dataset.shown !== words) {
    list.dataset.shown = words;
    list.replaceChildren(...steps.map(({ label }, i) => crumb(label, i === steps.length - 1)));
  }
  for (const [i, link] of [...list.querySelectorAll("a")].entries()) link.href = addressOf(steps[i].at);
}

/** @param {string} label @param {boolean} isHere */
function crumb(label, isHere) {
  const step = document.createElement("li");
  const words = document.createElement(isHere ? "h1" : "a");
  words.textContent = visible(label);
  words.title = visible(label);
  words.dir = "auto";
  if (isHere) words.tabIndex = -1;
  step.append(words);
  return step;
}
