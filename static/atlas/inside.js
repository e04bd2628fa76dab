// @ts-check
/** Inside a theme: its topics as a cloud that fills the room. */

import { keep, newBubble, showBubble } from "./bubbles.js";

const MOST_DRAWN = 300;
const LOWEST = 150;

export class Inside {
  #cloud;

  /** @param {HTMLElement} layer  Holds the cloud. */
  constructor(layer) {
    this.#cloud = /** @type {import("../cloud/bubble-cloud.js").BubbleCloud} */ (layer.querySelector("bubble-cloud"));
  }

  /** @param {import("./atlas.js").Theme} theme @param {import("./atlas.js").Place} place @param {number} height  Of the room. */
  show(theme, place, height) {
    const topics = theme.topics.filter((topic, i) => i < MOST_DRAWN || topic.id === place.topic);
    this.#cloud.style.setProperty("--cloud-room", `${Math.max(LOWEST, Math.floor(height))}px`);
    if (this.#cloud.dataset.remember !== `atlas:${theme.id}`) this.#cloud.dataset.remember = `atlas:${theme.id}`;
    keep(/** @type {Element} */ (this.#cloud.firstElementChild), topics, newBubble, (entry, topic) => showBubble(entry, topic, topic.id === place.topic));
    this.#cloud.layout?.();
  }
}
