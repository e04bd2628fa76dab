// @ts-check
/** Where to scroll when topics are picked: nowhere if what is being read is still sent. */

/** @typedef {import("../../cloud/topic-state.js").PanelState} PanelState */
/** @typedef {import("./scroll.js").Place} Place */

import { isInView, underWay } from "../list/messages-in-view.js";
import { LEAD_IN } from "./scroll.js";

const NEAR_PX = 4;

export class Reading {
  #scroll;
  #fetchUntil;
  /** The topics that were picked at the last scroll. @type {readonly string[] | null} */
  #picked = null;
  /** Where the reader was before the first pick. @type {Place | null} */
  #old = null;

  /** @param {import("./scroll.js").Scroll} scroll @param {(id: string) => Promise<unknown>} fetchUntil */
  constructor(scroll, fetchUntil) {
    this.#scroll = scroll;
    this.#fetchUntil = fetchUntil;
  }

  /** @param {HTMLElement} message */
  show(message) {
    this.#scroll.show(message);
  }

  /** Goes to the next message that is sent. @param {1 | -1} step @param {readonly HTMLElement[]} messages */
  step(step, messages) {
    const view = this.#scroll.element.getBoundingClientRect();
    const line = view.top + LEAD_IN * view.height;
    const sent = messages.filter((message) => isDrawn(message) && !message.classList.contains("left-out"));
    const next = firstBelow(sent, line + NEAR_PX);
    const before = firstBelow(sent, line - NEAR_PX) - 1;
    const goal = sent[step > 0 ? next : before];
    if (goal) this.#scroll.show(goal);
  }

  place() {
    return this.#scroll.place();
  }

  /** True if other topics are picked than before. @param {PanelState | null} state */
  isNewPick(state) {
    const picked = pickedIn(state);
    return this.#picked !== null && picked !== null && picked.join("\0") !== this.#picked.join("\0");
  }

  /**
   * Scrolls to where the reader wants to be.
   * @param {Place} place  Where they were before the page changed.
   * @param {PanelState | null} state
   * @param {readonly HTMLElement[]} messages  All on the page, in order.
   */
  go(place, state, messages) {
    const before = this.#picked;
    const isNew = this.isNewPick(state);
    this.#picked = pickedIn(state) ?? this.#picked;
    if (before === null || !isNew || !state) {
      this.#stay(place);
      const isFirst = before === null && !messages.some(isDrawn);
      if (isFirst && state && this.#picked?.length) this.#goToOlder(this.#picked, state, messages);
      return;
    }
    if (!this.#picked?.length) {
      // Who has read on since then stays where they are.
      const old = (!this.#scroll.isByHand && this.#old) || place;
      this.#old = null;
      this.#stay(old.seen.some(({ message }) => message.isConnected) || old.isAtEnd ? old : place);
      return;
    }
    this.#old ??= place;
    if (place.isAtEnd && isAnswering(messages)) {
      this.#stay(place); // who watches an answer being written goes on watching it
      return;
    }
    const added = this.#picked.filter((label) => !before.includes(label));
    if (added.length) this.#goTo(added, place, state, messages);
    else this.#stay(place);
  }

  /** Keeps what is read where it is, if it is still drawn. @param {Place} place */
  #stay({ isAtEnd, seen }) {
    const kept = seen.find(({ message }) => isDrawn(message));
    if (isAtEnd) this.#scroll.toEnd();
    else if (kept && Math.abs(kept.message.getBoundingClientRect().top - kept.top) > 1) {
      this.#scroll.hold(kept.message, kept.top);
    }
  }

  /**
   * Scrolls to a message of the picked topics: one in view, else the nearest.
   * @param {readonly string[]} labels
   * @param {Place} place
   * @param {PanelState} state
   * @param {readonly HTMLElement[]} messages
   */
  #goTo(labels, place, state, messages) {
    /** @param {HTMLElement} message */
    const isWanted = (message) => isDrawn(message) && labels.includes(state.keptBy.get(idOf(message)) ?? "");
    const { seen } = place;
    const read = seen.find(({ message }) => isWanted(message)) ?? seen.find(({ message }) => isDrawn(message));
    if (read) this.#scroll.hold(read.message, read.top);
    const isThere = (/** @type {HTMLElement} */ one) => isWanted(one) && isInView(this.#scroll.element, one);
    if (read && this.place().seen.some(({ message }) => isThere(message))) return;
    const nearest = nearestTo(place.seen[0]?.message, messages, isWanted);
    if (nearest) this.#scroll.show(nearest);
    else this.#goToOlder(labels, state, messages);
  }

  /** @param {readonly string[]} labels @param {PanelState} state @param {readonly HTMLElement[]} messages */
  async #goToOlder(labels, state, messages) {
    const shown = new Set(messages.map(idOf));
    const older = (state.messageIds ?? []).filter((id) => !shown.has(id) && labels.includes(state.keptBy.get(id) ?? ""));
    const id = older.at(-1);
    if (id === undefined) return;
    const picked = this.#picked;
    await this.#fetchUntil(id);
    const message = document.getElementById(`m-${id}`);
    if (message && picked === this.#picked) this.#scroll.show(message);
  }
}

/** True if an answer is being written. @param {readonly HTMLElement[]} messages */
function isAnswering(messages) {
  return underWay(messages) < messages.length;
}

/** The first of these messages whose top is below a line, by binary search. @param {readonly HTMLElement[]} messages @param {number} line */
function firstBelow(messages, line) {
  let [low, high] = [0, messages.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (messages[middle].getBoundingClientRect().top > line) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The wanted message nearest to a given one, or to the end.
 * @param {HTMLElement | undefined} message
 * @param {readonly HTMLElement[]} messages
 * @param {(message: HTMLElement) => boolean} isWanted
 */
function nearestTo(message, messages, isWanted) {
  const middle = message ? messages.indexOf(message) : messages.length - 1;
  for (let distance = 0; distance < messages.length; distance += 1) {
    for (const at of [middle - distance, middle + distance]) {
      if (messages[at] && isWanted(messages[at])) return messages[at];
    }
  }
  return undefined;
}

/** The picked topics; null while they are unknown. @param {PanelState | null} state */
function pickedIn(state) {
  if (!state?.isKnown || !state.messageIds) return state?.isKnown && !state.active.length ? [] : null;
  return state.isOn ? state.active : [];
}

/** @param {HTMLElement} message */
function idOf(message) {
  return message.dataset.messageId ?? "";
}

/** @param {HTMLElement} message */
function isDrawn(message) {
  return message.isConnected && !message.hasAttribute("data-folded");
}
