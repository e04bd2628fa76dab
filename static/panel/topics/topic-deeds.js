// @ts-check
/** What is done with topics by hand: merged, muted, recalled in another chat. From a menu, or with a bubble in the hand. */

import { reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { tellWithUndo } from "./undo-notice.js";

const QUOTED = 200;

/** @typedef {{ id: string, title: string }} Chat */
/** @typedef {Chat & { updated_at: string, preview: string }} Row */

export class TopicDeeds {
  #wire;
  #chatId;
  #panel;

  /** @param {import("../../wire.js").Wire} wire @param {string} chatId @param {import("./topics-panel.js").TopicsPanel} panel */
  constructor(wire, chatId, panel) {
    this.#wire = wire;
    this.#chatId = chatId;
    this.#panel = panel;
  }

  /** Listens to the menu of a topic. */
  start() {
    /** @param {string} event @param {(topics: readonly string[]) => Promise<unknown> | void} deed */
    const on = (event, deed) => document.addEventListener(event, (news) => this.#attempt(() => deed(/** @type {CustomEvent} */ (news).detail.topics)));
    on("mute-topics", (topics) => this.mute(topics));
    on("merge-topics", (topics) => this.#askInto(topics));
    on("recall-topics", (topics) => this.#askChat(topics));
    document.addEventListener("assign-messages", (news) => this.#attempt(() => this.#askAbout(/** @type {CustomEvent} */ (news).detail.ids)));
  }

  /** Merges topics into one. @param {readonly string[]} topics @param {string} into */
  async merge(topics, into) {
    const labels = [into, ...topics.filter((label) => label !== into)];
    await this.#attempt(async () => {
      const { undo_words: done } = await this.#call("merge_topics", { labels });
      tellWithUndo(`${topics.map(visible).join(", ")} merged into ${visible(into)}.`, done, this.#panel);
    });
  }

  /**
   * Says what messages are about, or not about.
   * @param {readonly string[]} ids @param {{ topic_id?: string | null, not_topic_id?: string }} word
   */
  async assign(ids, word) {
    await this.#attempt(async () => {
      const { undo_words: done } = await this.#call("assign", { message_ids: ids, ...word });
      tellWithUndo(`${visible(done)}.`, done, this.#panel);
    });
  }

  /** Says that messages are about a topic. @param {readonly string[]} ids @param {string} label */
  async assignTo(ids, label) {
    const id = this.#panel.state.all.find((topic) => topic.label === label)?.id;
    await this.assign(ids, { topic_id: id ?? label });
  }

  /** Asks what messages are about. @param {readonly string[]} ids */
  async #askAbout(ids) {
    const { message_ids: known, topics: found } = await this.#call("topic_map", {});
    const { all, keptBy } = this.#panel.state;
    const topics = all.filter(({ sticky }) => !sticky);
    const places = new Set(ids.map((id) => known.indexOf(id)));
    /** The topics that they are in, or kept by. @type {Set<string | undefined>} */
    const theirs = new Set(ids.map((id) => keptBy.get(id)));
    for (const { label, places: own } of found) if (own.some((/** @type {number} */ place) => places.has(place))) theirs.add(label);
    const options = [
      ...topics.map(({ id, label }) => new Option(`About ${visible(label)}`, JSON.stringify({ topic_id: id }))),
      ...topics.filter(({ label }) => theirs.has(label)).map(({ id, label }) => new Option(`Not about ${visible(label)}`, JSON.stringify({ topic_id: null, not_topic_id: id }))),
      new Option("About none of the topics", JSON.stringify({ topic_id: null })),
    ];
    choose("What is this about?", "Keep it so", options, (word) => this.assign(ids, JSON.parse(word)), ids);
  }

  /** Hides the messages of topics, or shows them again if all are hidden. @param {readonly string[]} topics */
  async mute(topics) {
    await this.#attempt(async () => {
      const messages = await this.#messagesOn(topics);
      if (!messages.length) throw new Error("No message is known to be on this topic. Find topics again, in the options.");
      const isMuted = messages.every((id) => this.#panel.state.hidden.has(id));
      await this.#panel.mark(isMuted ? "release" : "hide", messages);
      const words = `${topics.map(visible).join(", ")} ${isMuted ? "can be sent again" : "is never sent"}.`;
      tellWithUndo(words, this.#panel.state.undoWords, this.#panel);
    });
  }

  /** The ids of the messages on topics. @param {readonly string[]} topics @returns {Promise<string[]>} */
  async #messagesOn(topics) {
    const { message_ids: ids, topics: found } = await this.#call("topic_map", {});
    /** @type {readonly { label: string, places: number[] }[]} */
    const mapped = found;
    /** @param {{ label: string }} topic */
    const isAsked = ({ label }) => topics.includes(label);
    const listed = this.#panel.state.all.filter(isAsked).flatMap(({ message_ids: known = [] }) => known);
    const places = mapped.filter(isAsked).flatMap((topic) => topic.places);
    return [...new Set([...listed, ...places.map((place) => ids[place])])];
  }

  /** Sends topics of this chat with the messages of another. @param {readonly string[]} topics @param {Chat} chat */
  async recallIn(topics, { id, title }) {
    await this.#attempt(async () => {
      const { recall_id: made } = await this.#wire.call("smart_context.recall", { chat_id: id, from_chat: this.#chatId, topics });
      const act = () => void this.#attempt(() => this.#wire.call("smart_context.forget_recall", { chat_id: id, recall_id: made }));
      toast(`“${visible(title)}” now recalls ${topics.map(visible).join(", ")}.`, { label: "Undo", act });
    });
  }

  /** Picks a topic besides those that are picked. @param {string} label */
  async pick(label) {
    const { active } = this.#panel.state;
    if (!active.includes(label)) await this.#panel.pick([...active, label]);
  }

  /** @param {readonly string[]} topics */
  #askInto(topics) {
    const others = this.#panel.state.topics.map(({ label }) => label).filter((label) => !topics.includes(label));
    choose("Merge into", "Merge", others.map((label) => new Option(visible(label), label)), (into) => this.merge(topics, into));
  }

  /** @param {readonly string[]} topics */
  async #askChat(topics) {
    const { chats } = await this.#wire.call("memory.list_chats", {});
    const rows = /** @type {Row[]} */ (chats).filter(({ id }) => id !== this.#chatId);
    const options = rows.map((row) => new Option(visible(wordsOf(row)), row.id));
    choose("Recall in another chat", "Recall there", options, async (chosen) => {
      const chat = rows.find(({ id }) => id === chosen);
      if (chat) await this.recallIn(topics, chat);
    });
  }

  /** @param {string} command @param {Record<string, unknown>} params */
  #call(command, params) {
    return this.#wire.call(`smart_context.${command}`, { chat_id: this.#chatId, ...params });
  }

  /** @param {() => Promise<unknown> | void} deed */
  async #attempt(deed) {
    try {
      await deed();
    } catch (error) {
      toast(reasonOf(error));
    }
  }
}

/** A chat's title, with when it was last written in and its last words: several may have one title. @param {Row} row */
function wordsOf({ title, updated_at: at, preview }) {
  const when = new Date(at);
  const time = Number.isNaN(when.valueOf()) ? "" : when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return [title, time, preview].filter(Boolean).join(" · ");
}

/**
 * Asks for one of several.
 * @param {string} title
 * @param {string} action
 * @param {readonly HTMLOptionElement[]} options
 * @param {(value: string) => Promise<unknown>} use
 * @param {readonly string[]} about  The messages that it is about.
 */
function choose(title, action, options, use, about = []) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("topic-target"));
  const [heading, list, button] = [dialog.querySelector("h2"), dialog.querySelector("select"), dialog.querySelector(".primary")];
  if (!heading || !list || !button) return;
  [heading.textContent, button.textContent] = [title, action];
  quote(/** @type {HTMLElement} */ (dialog.querySelector(".ask-quote")), about);
  list.replaceChildren(...options);
  list.selectedIndex = 0;
  dialog.returnValue = "";
  dialog.onclose = () => {
    const chosen = list.selectedOptions[0];
    if (dialog.returnValue === "use" && chosen) use(chosen.value);
  };
  dialog.showModal();
  list.focus();
}

/** Shows the first words of a message, and that its answers are meant, too. @param {HTMLElement} line @param {readonly string[]} ids */
function quote(line, [id, ...answers]) {
  const text = id ? (document.getElementById(`m-${id}`)?.querySelector(".body")?.textContent ?? "") : "";
  const words = text.trim().replace(/\s+/g, " ").slice(0, QUOTED);
  /** @type {HTMLElement} */ (line.querySelector("q")).textContent = words;
  /** @type {HTMLElement} */ (line.querySelector("span")).textContent = answers.length ? " and its answer" : "";
  line.hidden = !words;
}
