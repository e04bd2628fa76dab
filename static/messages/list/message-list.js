// @ts-check
/** The messages of the open chat: older ones on demand, new ones as they come. */

import { fetchFragment } from "../../lib/fragments.js";
import { Gap } from "./gap.js";
import { LiveAnswer } from "../answers/live-answer.js";
import { patchMessage } from "./patch.js";
import { messagesIn, reconcile } from "../../lib/reconcile.js";
import { reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

const SETTLING_FRAMES = 5;
const MOST_AT_ONCE = 400;

/** Moves the focus to what took the place of a control. @param {HTMLElement | undefined} message */
function focusOn(message) {
  if (message) message.tabIndex = -1;
  message?.focus({ preventScroll: true });
}

export class MessageList {
  #scroll;
  #list;
  #address;
  #onChange;
  #catchUp;
  /** @type {Map<string, LiveAnswer>} */
  #live = new Map();
  #anchor;
  /** @type {Promise<void> | undefined} */
  #syncing;
  #isSyncDue = false;
  /** What is being fetched of the older messages. @type {Promise<void> | undefined} */
  #loading;
  /** Where older messages are left out between those far up and the rest. @type {Gap | undefined} */
  #gap;
  #isCatchingUp = false;
  /** Settles once the page shows every answer event received so far. @type {Promise<unknown>} */
  #told = Promise.resolve();

  /**
   * @param {HTMLElement} scroll  The element that scrolls.
   * @param {string} chatId
   * @param {(added: readonly HTMLElement[]) => void} onChange  Called with messages new on the page.
   * @param {() => Promise<string>} catchUp  What has arrived of the answer that is under way.
   */
  constructor(scroll, chatId, onChange, catchUp) {
    this.#catchUp = catchUp;
    this.#scroll = scroll;
    const lists = /** @type {HTMLElement[]} */ ([...scroll.querySelectorAll(".messages")]);
    this.#list = /** @type {HTMLElement} */ (lists.pop());
    this.#address = `/chats/${encodeURIComponent(chatId)}`;
    this.#onChange = onChange;
    this.#anchor = messagesIn(this.#list)[0]?.dataset.messageId ?? "";
    if (lists[0]) this.#leaveGap(lists[0]); // a link led to what is far up
  }

  /** True if an answer is being written. */
  get isAnswering() {
    return this.#list.querySelector("[data-generating]") !== null;
  }

  /** Updates the page to the server's state; concurrent calls are merged into one. */
  async sync() {
    this.#isSyncDue = true;
    if (this.#syncing) return this.#syncing.catch(() => {}); // whoever began it says what went wrong
    this.#syncing = this.#syncAll();
    return this.#syncing;
  }

  async #syncAll() {
    try {
      while (this.#isSyncDue) {
        this.#isSyncDue = false;
        await this.#syncOnce();
      }
    } finally {
      this.#syncing = undefined;
    }
  }

  async #syncOnce() {
    const fresh = await fetchFragment(`${this.#address}/messages?since=${encodeURIComponent(this.#anchor)}`);
    const messages = messagesIn(fresh);
    const known = new Set(messagesIn(this.#list).map((message) => message.dataset.messageId));
    const isAnchored = !this.#anchor || messages[0]?.dataset.messageId === this.#anchor;
    const isSameBefore = fresh.dataset.olderDigest === this.#list.dataset.olderDigest;
    if (!isAnchored || !isSameBefore || !messages.some((message) => known.has(message.dataset.messageId))) {
      this.#forgetOlder(messages[0]?.dataset.messageId ?? "", fresh.dataset.older ?? "0");
    }
    const { olderDigest, total, summary, boundary } = fresh.dataset;
    Object.assign(this.#list.dataset, { olderDigest, total, summary, boundary });
    const added = reconcile(this.#list, messages, (message) => this.#live.has(message.dataset.messageId ?? ""), patchMessage);
    this.#gap?.mark();
    for (const id of this.#live.keys()) {
      if (!this.#element(id)?.hasAttribute("data-live")) this.#live.delete(id);
    }
    this.#onChange(added);
  }

  /**
   * Drops older messages that have changed; they are fetched again when the reader scrolls to them.
   * @param {string} anchor
   * @param {string} older
   */
  #forgetOlder(anchor, older) {
    this.#anchor = anchor;
    this.#list.dataset.older = older;
    for (const chunk of this.#scroll.querySelectorAll(".chunk")) chunk.remove();
    this.#gap?.remove();
    this.#gap = undefined;
    this.#showOlder();
  }

  /** Handles the start of an answer. @param {string} messageId */
  begin(messageId) {
    return this.#liveAnswer(messageId) !== undefined;
  }

  /**
   * Does something with an answer, in the order in which news of it came: a page that has to be
   * brought up to date first holds back what came after, too.
   * @template T
   * @param {string} id
   * @param {(answer: LiveAnswer) => T} act
   * @returns {Promise<T | undefined>}
   */
  #tell(id, act) {
    const told = this.#told.then(async () => {
      if (!this.#liveAnswer(id)) await this.sync();
      const answer = this.#liveAnswer(id);
      return answer && act(answer);
    });
    this.#told = told.catch(() => {});
    return told;
  }

  /** Handles a piece of an answer. @param {{ message_id: string, offset: number, text: string }} piece */
  async add({ message_id: id, offset, text }) {
    const hasGap = await this.#tell(id, (answer) => answer.add(offset, text));
    if (!hasGap || this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    try {
      const missed = await this.#catchUp();
      this.#live.get(id)?.add(0, missed);
    } finally {
      this.#isCatchingUp = false;
    }
  }

  /** Handles a piece of what a model thinks before it answers. @param {{ message_id: string, text: string }} thought */
  async think({ message_id: id, text }) {
    await this.#tell(id, (answer) => answer.think(text));
  }

  /** The model reads before it answers. @param {{ message_id: string, tokens: number, percent: number | null, seconds: number }} news */
  async read({ message_id: id, tokens, percent, seconds }) {
    const begun = Date.now() - 1000 * seconds;
    await this.#tell(id, (answer) => answer.read(tokens, percent, begun));
  }

  /** Handles that a piece of an answer was thought. @param {{ message_id: string, since: number, until: number }} piece */
  async takeBack({ message_id: id, since, until }) {
    await this.#tell(id, (answer) => answer.takeBack(since, until));
  }

  /** The model of an answer is busy, and is asked again later. @param {string} id @param {number} seconds */
  async hold(id, seconds) {
    const until = Date.now() + seconds * 1000;
    await this.#tell(id, (answer) => answer.hold(until));
  }

  /** Handles the end of an answer, which shows at once; later the stored text replaces the streamed one. */
  async end() {
    for (const id of this.#live.keys()) {
      const message = this.#element(id);
      if (message) Object.assign(message.dataset, { version: "", ended: "" });
    }
    this.#live.clear();
    await this.sync();
  }

  /**
   * Loads older messages without moving what is being read.
   * @param {number} [limit]  At most so many; 0: the usual number.
   */
  async loadOlder(limit = 0) {
    const first = this.#first;
    if (this.#loading || !first || !Number(this.#list.dataset.older)) return;
    const id = encodeURIComponent(first.dataset.messageId ?? "");
    await this.#insert(`before=${id}${limit ? `&limit=${limit}` : ""}`, (older) => {
      if (!first.isConnected) return false; // what was above has been taken from the page meanwhile
      first.parentElement?.before(older);
      this.#list.dataset.older = older.dataset.older;
      this.#showOlder();
      return true;
    });
  }

  /** The oldest message on the page. @returns {HTMLElement | null} */
  get #first() {
    return this.#scroll.querySelector("[data-message-id]");
  }

  /**
   * Fetches older messages and puts them on the page, without moving what is being read.
   * @param {string} which
   * @param {(older: HTMLElement) => boolean} put  False if they are not wanted.
   * @param {HTMLElement | null} [stays]  What stays in its place; else the first message in sight.
   */
  async #insert(which, put, stays = null) {
    const insert = async () => {
      const older = await fetchFragment(`${this.#address}/messages?${which}`);
      const messages = messagesIn(older);
      if (!messages.length) return;
      const anchor = /** @type {HTMLElement} */ (stays ?? this.#scroll.querySelector("[data-message-id]:not([data-folded])") ?? this.#first);
      const { top } = anchor.getBoundingClientRect();
      older.classList.add("chunk");
      for (const message of messages) message.removeAttribute("data-newest");
      if (!put(older)) return;
      // The height is fixed, so that it keeps its space while it is out of sight.
      const height = older.offsetHeight;
      older.dataset.messageHeight = String(height / messages.length);
      older.style.setProperty("--chunk-height", `${height}px`);
      older.toggleAttribute("data-settled", true);
      this.#onChange(messages);
      if (anchor.isConnected) this.#keepInPlace(anchor, top);
    };
    this.#loading = insert();
    try {
      await this.#loading;
    } finally {
      this.#loading = undefined;
    }
  }

  /**
   * Loads a message with those around it. If it is far up, what lies between stays away until the
   * reader asks for it: whoever picks a topic of last year waits for no thousands of messages.
   * Nothing happens if the chat has no such message.
   * @param {string} id
   */
  async loadAround(id) {
    await this.#loaded();
    if (this.#element(id)) return;
    let isNear = false;
    await this.#insert(`at=${encodeURIComponent(id)}`, (around) => {
      if (messagesIn(around).every(({ dataset }) => dataset.messageId !== id)) return false;
      this.#closeGap();
      isNear = this.#between(around) < MOST_AT_ONCE;
      if (isNear) return false;
      this.#first?.parentElement?.before(around);
      this.#leaveGap(around);
      return true;
    });
    if (isNear) await this.loadUntil(id);
  }

  /** The number of messages between those far up and the rest. @param {HTMLElement} far */
  #between(far) {
    return Number(this.#list.dataset.older) - Number(far.dataset.older) - messagesIn(far).length;
  }

  /** Lets a line stand for what lies below messages that are far up. @param {HTMLElement} far */
  #leaveGap(far) {
    const end = Number(this.#list.dataset.older);
    this.#gap = new Gap(end, () => this.#fillGap().catch((error) => toast(reasonOf(error))));
    far.after(this.#gap.element);
    this.#gap.show(this.#between(far));
    this.#list.dataset.older = far.dataset.older;
    this.#showOlder();
  }

  /** Loads more of what a gap leaves out, on the side from which the reader comes. */
  async #fillGap() {
    await this.#loaded();
    const gap = this.#gap;
    const above = gap?.element.previousElementSibling;
    const last = above && messagesIn(above).at(-1);
    const below = gap?.below;
    if (!gap || !last || !below) return;
    const limit = Math.min(gap.count, MOST_AT_ONCE);
    const isFromBelow = above.getBoundingClientRect().bottom < this.#scroll.getBoundingClientRect().top;
    const side = isFromBelow ? ["before", below] : ["after", last];
    const [where, message] = /** @type {[string, HTMLElement]} */ (side);
    await this.#insert(
      `${where}=${encodeURIComponent(message.dataset.messageId ?? "")}&limit=${limit}`,
      (more) => {
        if (gap !== this.#gap) return false;
        const added = messagesIn(more);
        if (isFromBelow) gap.element.after(more);
        else gap.element.before(more);
        if (isFromBelow) gap.end -= added.length;
        const isFocused = document.activeElement === gap.element;
        gap.show(gap.count - added.length);
        if (!gap.count) this.#gap = undefined;
        if (!gap.count && isFocused) focusOn(added[isFromBelow ? added.length - 1 : 0]);
        return true;
      },
      isFromBelow ? below : null,
    );
  }

  /** Once nothing more is being fetched. */
  async #loaded() {
    while (this.#loading) await this.#loading.catch(() => {});
  }

  /** Takes what is above a gap from the page. */
  #closeGap() {
    if (!this.#gap) return;
    for (const chunk of this.#gap.above) chunk.remove();
    this.#list.dataset.older = String(this.#gap.end);
    this.#gap.remove();
    this.#gap = undefined;
  }

  /** Loads older messages, up to a given one. @param {string} id */
  async loadUntil(id) {
    await this.#loaded();
    for (let older = ""; !this.#element(id) && older !== this.#list.dataset.older; await this.#loaded()) {
      older = this.#list.dataset.older ?? "";
      await this.loadOlder(MOST_AT_ONCE);
    }
  }

  /**
   * Scrolls so that a message stays where it is read. Those that come into sight take their true
   * height with the next frames; who scrolls meanwhile is left alone.
   * @param {HTMLElement} message
   * @param {number} top  Where it was, in the window.
   */
  #keepInPlace(message, top, frames = SETTLING_FRAMES) {
    const scroll = this.#scroll;
    scroll.scrollTop += message.getBoundingClientRect().top - top;
    const { scrollTop } = scroll;
    if (!frames) return;
    requestAnimationFrame(() => scroll.scrollTop === scrollTop && this.#keepInPlace(message, top, frames - 1));
  }

  #showOlder() {
    this.#scroll.querySelector(".older")?.toggleAttribute("hidden", !Number(this.#list.dataset.older));
  }

  /** The answer that is being written, if it still is: the page may show it complete before its events arrive. @param {string} id */
  #liveAnswer(id) {
    const known = this.#live.get(id);
    const element = this.#element(id);
    if (known || !element?.hasAttribute("data-generating")) return known;
    const answer = new LiveAnswer(element);
    this.#live.set(id, answer);
    return answer;
  }

  /** @param {string} id @returns {HTMLElement | null} */
  #element(id) {
    return this.#scroll.querySelector(`[data-message-id="${CSS.escape(id)}"]`);
  }
}
