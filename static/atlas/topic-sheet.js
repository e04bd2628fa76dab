// @ts-check
/** One topic: what was said about it, by chat and date, and what one can do with it. */

import { find } from "../lib/find.js";
import { clone } from "../lib/from-template.js";
import { newest } from "../lib/newest.js";
import { reasonOf, visible } from "../lib/text.js";
import { narrowing, TIME_ZONE } from "./atlas.js";
import { sizeInWords } from "./facts.js";
import { dayInWords } from "./timeline.js";
import { spanOf } from "./topic-list.js";

/** @typedef {import("./atlas.js").Topic} Topic */
/** @typedef {import("./atlas.js").Place} Place */
/** @typedef {{ chat_id: string, title: string, message_id: string, role: string, created_at: string | null, beginning: string }} Said */

const PAGE = 60;
const SPEAKERS = /** @type {Record<string, string>} */ ({ user: "You", assistant: "Assistant" });

export class TopicSheet {
  #root;
  #wire;
  #wish;
  /** @type {Said[]} */
  #said = [];
  #asked = "";
  /** @type {Record<string, unknown>} */
  #question = {};

  /** @param {HTMLElement} root @param {import("../wire.js").Wire} wire */
  constructor(root, wire) {
    this.#root = root;
    this.#wire = wire;
    this.#wish = newest(0, (/** @type {{ messages: Said[], total: number }} */ answer) => this.#add(answer), (error) => this.#fail(reasonOf(error)));
  }

  start() {
    find("[data-ask]", this.#root).addEventListener("click", () => this.#ask());
    find("[data-more]", this.#root).addEventListener("click", () => this.#load(this.#said.length));
  }

  /** @param {Topic} topic @param {Place} place */
  show(topic, place) {
    this.#root.dataset.hue = topic.hue;
    const title = find("h2", this.#root);
    title.textContent = visible(topic.label);
    title.title = title.textContent;
    find(".sheet-facts", this.#root).textContent = [sizeInWords(topic), spanOf(topic)].filter(Boolean).join(" · ");
    this.#question = { topic_id: topic.id, ...narrowing(place), time_zone: TIME_ZONE };
    const asked = JSON.stringify([this.#question, topic.now]);
    if (asked === this.#asked) return;
    const isOther = JSON.parse(this.#asked || "[{}]")[0].topic_id !== topic.id;
    this.#asked = asked;
    if (isOther) this.#empty();
    this.#load(0);
  }

  /** Forgets the topic, so that nothing of it comes later. */
  leave() {
    this.#wish.forget();
    this.#asked = "";
  }

  #empty() {
    this.#said = [];
    find(".said-by-chat", this.#root).replaceChildren();
    find(".sheet-problem", this.#root).textContent = "";
    /** @type {HTMLAnchorElement} */ (find("[data-open]", this.#root)).hidden = true;
    find("[data-more]", this.#root).hidden = true;
    this.#root.scrollTop = 0;
  }

  /** @param {number} offset */
  #load(offset) {
    this.#root.ariaBusy = "true";
    this.#wish.ask(async () => {
      const answer = await this.#wire.call("smart_context.atlas_messages", { ...this.#question, offset, limit: PAGE });
      if (!offset) this.#said = [];
      return answer;
    });
  }

  /** @param {{ messages: Said[], total: number }} answer */
  #add({ messages, total }) {
    this.#root.ariaBusy = "false";
    find(".sheet-problem", this.#root).textContent = total ? "" : "No messages of this topic in the chosen time.";
    this.#said.push(...messages);
    const isSearch = "query" in this.#question;
    find(".said-by-chat", this.#root).replaceChildren(...byChat(this.#said, isSearch).map(section));
    const more = find("[data-more]", this.#root);
    more.hidden = !messages.length || this.#said.length >= total;
    more.textContent = isSearch ? "Show more" : "Show older messages";
    const open = /** @type {HTMLAnchorElement} */ (find("[data-open]", this.#root));
    open.hidden = !this.#said.length;
    if (this.#said.length) open.href = addressOfMessage(this.#said[0]);
  }

  /** @param {string} reason */
  #fail(reason) {
    this.#root.ariaBusy = "false";
    find(".sheet-problem", this.#root).textContent = reason;
  }

  /** A new chat that is sent what was said about this. */
  async #ask() {
    const button = /** @type {HTMLButtonElement} */ (find("[data-ask]", this.#root));
    button.disabled = true;
    try {
      const { chat_id: chatId } = await this.#wire.call("chat.new");
      await this.#wire.call("smart_context.recall", { chat_id: chatId, topic_id: this.#question.topic_id });
      location.assign(`/chats/${encodeURIComponent(chatId)}`);
    } catch (error) {
      this.#fail(reasonOf(error));
    } finally {
      button.disabled = false;
    }
  }
}

/**
 * Messages by chat, in the order in which the chats come; within a chat as they were said, or as they were found.
 * @param {readonly Said[]} said  Newest first, or best first.
 * @param {boolean} isSearch
 * @returns {Said[][]}
 */
export function byChat(said, isSearch) {
  /** @type {Map<string, Said[]>} */
  const chats = new Map();
  for (const message of said) chats.set(message.chat_id, [...(chats.get(message.chat_id) ?? []), message]);
  return [...chats.values()].map((messages) => (isSearch ? messages : messages.toReversed()));
}

/** @param {Said} message */
function addressOfMessage({ chat_id: chat, message_id: id }) {
  return `/chats/${encodeURIComponent(chat)}?at=${encodeURIComponent(id)}#m-${encodeURIComponent(id)}`;
}

/** @param {readonly Said[]} messages */
function section(messages) {
  const part = clone("said-template");
  const [head, list] = /** @type {HTMLCollectionOf<HTMLElement>} */ (part.children);
  head.textContent = visible(messages[0].title) || "Untitled";
  list.append(...messages.map(entry));
  return part;
}

/** @param {Said} message */
function entry(message) {
  const line = clone("message-template");
  const link = /** @type {HTMLAnchorElement} */ (line.firstElementChild);
  const [who, when, text] = /** @type {HTMLCollectionOf<HTMLElement>} */ (link.children);
  link.href = addressOfMessage(message);
  line.dataset.role = message.role;
  who.textContent = SPEAKERS[message.role] ?? message.role;
  when.textContent = dayInWords(message.created_at);
  /** @type {HTMLTimeElement} */ (when).dateTime = message.created_at ?? "";
  text.textContent = visible(message.beginning);
  return line;
}
