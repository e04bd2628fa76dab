// @ts-check
/** Marks the messages that are in context, according to the panel, and folds the others. */

import { hueOf as hueOfId } from "../../cloud/hues.js";
import { messagesIn } from "../../lib/reconcile.js";
import { decoded, reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { MAPPED, topicsOf } from "../../receipts/knew.js";
import { Folds, mayFold } from "./folds.js";
import { tellSent } from "./gap.js";
import { underWay } from "./messages-in-view.js";
import { Reading } from "../reading/reading.js";

/** @typedef {import("../../cloud/topic-state.js").PanelState} PanelState */

/** What is out whatever topics are picked: replaced by a summary, a notice of the program, an answer that failed. */
const NEVER_SENT = ["compacted", "extracted", "failed"];
/** No message has this id. */
const NOTHING_KNOWN = " ";

export class Highlight {
  #list;
  #folds;
  #reading;
  /** @type {ReadonlySet<string> | null} */
  #ids = null;
  /** @type {PanelState | null} */
  #state = null;
  /** The topic of each message, once the map knows it. @type {ReadonlyMap<string, string>} */
  #topicOf = new Map();
  /** The ids of all messages of the chat, once the map knows them. @type {readonly string[]} */
  #order = [];
  /** The newest message that the panel's last update covers. */
  #newestKnown = "";
  #isDue = false;
  /** Messages that arrived while the page was open: they are not folded while the user reads them. @type {Set<string>} */
  #fresh = new Set();
  /** The last message that was checked. @type {string | null} */
  #last = null;

  /**
   * @param {HTMLElement} list  The element that holds the messages.
   * @param {import("../reading/scroll.js").Scroll} scroll
   * @param {(id: string) => Promise<unknown>} fetchUntil  Puts older messages on the page, up to that one.
   */
  constructor(list, scroll, fetchUntil) {
    this.#list = list;
    this.#reading = new Reading(scroll, fetchUntil);
    this.#folds = new Folds(list.querySelectorAll(".fold:not([data-gap])"), (line) => {
      const { top } = line.getBoundingClientRect();
      this.#show();
      // At the very top the user can't scroll up to load older messages.
      scroll.hold(line, top, { then: () => scroll.askForOlder() });
    });
  }

  /** Starts listening to the panel, and shows the initial state. */
  start() {
    document.addEventListener("smart_context.highlight", (event) => {
      this.#ids = new Set(/** @type {CustomEvent} */ (event).detail?.message_ids ?? []);
      this.#newestKnown = messagesIn(this.#list).at(-1)?.dataset.messageId ?? "";
      this.show();
    });
    document.addEventListener("panel-changed", (event) => {
      this.#state = /** @type {CustomEvent} */ (event).detail;
      if (!this.#state?.messageIds) this.#ids = null;
      this.show();
    });
    document.addEventListener(MAPPED, (event) => {
      this.#topicOf = topicsOf(/** @type {CustomEvent} */ (event).detail);
      this.#order = /** @type {CustomEvent} */ (event).detail.message_ids;
      this.show();
    });
    this.show();
  }

  /**
   * Marks the messages on the page; call it when messages were added or removed. It runs in a
   * microtask, so that many calls in a row cost one pass over ten thousand messages.
   */
  show() {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      const place = this.#reading.place();
      this.#show();
      this.#reading.go(place, this.#state, messagesIn(this.#list));
    });
  }

  /**
   * Scrolls to the message in the page's address, unfolding it if necessary.
   * @param {(id: string) => Promise<unknown>} load  Puts it on the page.
   */
  async goToTarget(load) {
    const { hash } = location;
    const id = decoded(hash.slice(1));
    const isAway = id.startsWith("m-") && !document.getElementById(id);
    if (isAway) await load(id.slice(2)).catch((error) => toast(reasonOf(error)));
    const target = id && document.getElementById(id);
    if (target instanceof HTMLElement && hash === location.hash) this.goTo(target);
  }

  /** Folds a message no more until other topics are picked, even if it is not sent. @param {HTMLElement} message */
  keepOpen(message) {
    this.#folds.reveal(message);
  }

  /** Scrolls to a message, unfolding it if necessary. @param {HTMLElement} message */
  goTo(message) {
    this.keepOpen(message); // also one that folds only once what is sent has come
    if (message.hasAttribute("data-folded")) this.#show();
    this.#reading.show(message);
    flash(message);
  }

  /** True if all messages that are sent are on the page, so that older ones would only be folded. */
  get hasAllSent() {
    const isFiltered = this.#list.closest("main")?.hasAttribute("data-filtered") ?? false;
    const isFolded = this.#list.querySelector("[data-message-id]")?.hasAttribute("data-folded") ?? false;
    return isFiltered && isFolded && this.#list.querySelectorAll(".in-context").length >= (this.#ids?.size ?? 0);
  }

  /** Goes to the next message that is sent. @param {1 | -1} step */
  step(step) {
    this.#reading.step(step, messagesIn(this.#list));
  }

  #show() {
    const ids = this.#ids;
    const messages = messagesIn(this.#list);
    this.#notice(messages);
    const known = new Set(messages.slice(0, this.#endOfKnown(messages)));
    /** @param {HTMLElement} message */
    const isOut = (message) => ids !== null && known.has(message) && !ids.has(message.dataset.messageId ?? "");
    const isNarrowed = messages.some((one) => isOut(one) && NEVER_SENT.every((kind) => !(kind in one.dataset)));
    this.#list.closest("main")?.toggleAttribute("data-filtered", isNarrowed);
    const hueOf = this.#hues();
    /** @type {Set<HTMLElement>} */
    const unsent = new Set();
    for (const [place, message] of messages.entries()) {
      const id = message.dataset.messageId ?? "";
      const isInside = ids !== null && ids.has(id);
      const isCompacted = "compacted" in message.dataset && !isInside && !this.#staysAnyway(id);
      const isNotice = "extracted" in message.dataset;
      const isUnsent = (isOut(message) && (isNarrowed || !isNotice)) || isCompacted;
      const isAskedFor = isNotice && message === messages.at(-1);
      const staysOpen = isNotice && !isCompacted && !unsent.has(messages[place - 1]);
      if (isUnsent && mayFold(message) && !isAskedFor && !staysOpen) unsent.add(message);
      show(message, {
        isInside,
        isOut: isUnsent,
        hue: hueOf(id, isInside),
        words: isNotice ? "" : this.#wordsFor(id, isOut(message), isCompacted && ("behind" in message.dataset ? "behind a summary" : "summed up")),
        isPinned: this.#state?.pinned.has(id) ?? false,
        isHidden: this.#state?.hidden.has(id) ?? false,
      });
    }
    if (this.#reading.isNewPick(this.#state)) {
      this.#folds.foldAll();
      // What is being answered is still being read.
      this.#fresh = new Set(messages.slice(underWay(messages)).map(({ dataset }) => dataset.messageId ?? ""));
    }
    this.#folds.show(messages, (message) => unsent.has(message) && !this.#fresh.has(message.dataset.messageId ?? "") && !this.#state?.fellBack);
    this.#tellGap(messages, isNarrowed ? ids : null);
  }

  /** Says how many of the messages that a gap leaves out are sent. @param {readonly HTMLElement[]} messages @param {ReadonlySet<string> | null} sent */
  #tellGap(messages, sent) {
    const line = /** @type {HTMLElement | null} */ (this.#list.querySelector("[data-gap]"));
    if (!line) return;
    const below = messages.findIndex(({ dataset }) => "afterGap" in dataset);
    const [from, to] = [messages[below - 1], messages[below]].map((message) => this.#order.indexOf(message?.dataset.messageId ?? ""));
    tellSent(line, from < 0 || !sent ? 0 : this.#order.slice(from + 1, to).filter((id) => sent.has(id)).length);
  }

  /**
   * The number of messages that the panel's state covers. It does not cover an answer that is being
   * written, and its question is sent whatever is picked; nor what another version brought.
   * @param {readonly HTMLElement[]} messages
   */
  #endOfKnown(messages) {
    const placeOfNewest = () => messages.findIndex((message) => message.dataset.messageId === this.#newestKnown);
    if (this.#newestKnown && this.#newestKnown !== NOTHING_KNOWN && placeOfNewest() < 0) {
      this.#newestKnown = messages.findLast((message) => shown.has(message))?.dataset.messageId ?? NOTHING_KNOWN;
    }
    const end = this.#newestKnown ? placeOfNewest() + 1 : messages.length;
    return Math.min(end, underWay(messages));
  }

  /** Remembers the messages that are being answered or are new; a short answer may be complete already. @param {readonly HTMLElement[]} messages */
  #notice(messages) {
    const last = this.#last === "" ? -1 : messages.findIndex(({ dataset }) => dataset.messageId === this.#last);
    const first = Math.min(last < 0 && this.#last !== "" ? messages.length : last + 1, underWay(messages));
    for (const { dataset } of messages.slice(first)) this.#fresh.add(dataset.messageId ?? "");
    this.#last = messages.at(-1)?.dataset.messageId ?? "";
  }

  /**
   * Tells the hue of each message: that of the picked topic that keeps it, or while none is picked that of its topic.
   * @returns {(id: string, isInside: boolean) => string | undefined}
   */
  #hues() {
    const hues = this.#state?.hues ?? new Map();
    const picked = this.#state?.isOn ? this.#state.active : [];
    if (!picked.length) return (id) => hues.get(this.#topicOf.get(id) ?? "");
    const keptBy = this.#state?.keptBy ?? new Map();
    const only = !keptBy.size && picked.length === 1 ? picked[0] : "";
    return (id, isInside) => {
      const label = keptBy.get(id) ?? only;
      return isInside && picked.includes(label) ? (hues.get(label) ?? String(hueOfId(label))) : undefined;
    };
  }

  /** True if it is sent even though a summary replaces it. @param {string} id */
  #staysAnyway(id) {
    return Boolean(this.#state?.pinned.has(id) || this.#state?.sticky.has(id));
  }

  /** @param {string} id @param {boolean} isOut @param {string | false} summedUp */
  #wordsFor(id, isOut, summedUp) {
    if (this.#state?.hidden.has(id)) return "hidden";
    if (this.#state?.pinned.has(id)) return "pinned";
    if (this.#state?.sticky.has(id)) return "always sent";
    if (summedUp) return summedUp;
    return isOut ? "not sent" : "";
  }
}

/** @typedef {{ isInside: boolean, isOut: boolean, hue?: string, words: string, isPinned: boolean, isHidden: boolean }} Looks */

/** How each message was last shown: most of ten thousand don't change at a click. @type {WeakMap<Element, Looks>} */
const shown = new WeakMap();

/** @param {HTMLElement} message @param {Looks} looks */
function show(message, looks) {
  const before = shown.get(message);
  /** @param {keyof Looks} key */
  const differs = (key) => before?.[key] !== looks[key];
  if (differs("isInside")) message.classList.toggle("in-context", looks.isInside);
  if (differs("isOut")) message.classList.toggle("left-out", looks.isOut);
  if (differs("hue") && looks.hue !== undefined) message.dataset.hue = looks.hue;
  else if (differs("hue")) delete message.dataset.hue;
  const words = differs("words") ? message.querySelector(".marks") : null;
  if (words) words.textContent = looks.words;
  shown.set(message, looks);
  if (!differs("isPinned") && !differs("isHidden")) return;
  message.toggleAttribute("data-marked", looks.isPinned || looks.isHidden);
  press(message, "pin", looks.isPinned);
  press(message, "hide", looks.isHidden);
}

/** Lights a message up for a moment, so that the eye finds what it was led to. @param {HTMLElement} message */
function flash(message) {
  message.removeAttribute("data-found");
  requestAnimationFrame(() => message.toggleAttribute("data-found", true));
  message.addEventListener("animationend", () => message.removeAttribute("data-found"), { once: true });
}

/** @param {HTMLElement} message @param {string} action @param {boolean} isPressed */
function press(message, action, isPressed) {
  message.querySelector(`.actions [data-action=${action}]`)?.setAttribute("aria-pressed", String(isPressed));
}
