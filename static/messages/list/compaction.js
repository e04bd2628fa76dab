// @ts-check
/** Compacts the chat, undoes it, and marks the messages that are no longer sent. */

import { messagesIn } from "../../lib/reconcile.js";
import { counted, messagesCounted, numbered, reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

/** @typedef {import("../../composer/commands.js").Command} Command */
/** @typedef {import("../../cloud/topic-state.js").PanelState} PanelState */

export class Compaction {
  #wire;
  #chatId;
  #done;
  #isSummingUp = false;

  /**
   * @param {import("../../wire.js").Wire} wire
   * @param {string} chatId
   * @param {(words: string) => void} done  Told in words what was done.
   */
  constructor(wire, chatId, done) {
    this.#wire = wire;
    this.#chatId = chatId;
    this.#done = done;
  }

  /** Listens to the chat's menu and to the buttons of summaries. */
  start() {
    document.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("button") : null;
      const command = /** @type {Command | undefined} */ (pressed?.dataset.compaction);
      if (command) this.#attempt(() => this.run(command));
      if (pressed?.dataset.action === "undo-compaction") this.#attempt(() => this.#undo(pressed));
    });
  }

  /**
   * Runs a command; rejects with a message for users.
   * @param {Command} command
   * @param {string} [topic]  What is summed up; without one, what was said before the last turn.
   */
  async run(command, topic = "") {
    if (command === "compact" && topic) {
      document.dispatchEvent(new CustomEvent("sum-up-topics", { detail: { topics: [topic] } }));
      return;
    }
    if (command === "clear") {
      const { summarised } = await this.#call("clear_context");
      const above = summarised ? `${messagesCounted(summarised)} above are` : "the summary above is";
      this.#done(`Context cleared: ${above} no longer sent.`);
      return;
    }
    if (this.#isSummingUp) throw new Error("Already writing a summary.");
    this.#isSummingUp = true;
    this.#showProgress("Summing up the chat…");
    try {
      const before = await this.#tokens();
      const { summarised } = await this.#call("compact");
      const costs = summarised ? `${numbered(before)} → ${counted(await this.#tokens(), "token")}` : "";
      this.#done(summarised ? `A summary of ${messagesCounted(summarised)} is sent in their place: ${costs}.` : "Not enough to sum up yet.");
    } finally {
      this.#isSummingUp = false;
      this.#showProgress("");
    }
  }

  /** What the next message sends, before anything is written. */
  async #tokens() {
    return (await this.#wire.call("smart_context.preview", { chat_id: this.#chatId, brief: true })).tokens;
  }

  /** @param {HTMLElement} pressed */
  async #undo(pressed) {
    pressed.toggleAttribute("disabled", true);
    try {
      const messageId = /** @type {HTMLElement | null} */ (pressed.closest("[data-message-id]"))?.dataset.messageId;
      const title = pressed.querySelector(".visually-hidden")?.textContent?.trim() ?? "";
      await this.#call("undo_compaction", { message_id: messageId });
      document.getElementById("message-box")?.focus();
      this.#done(`Undone: ${title}`);
    } finally {
      pressed.toggleAttribute("disabled", false);
    }
  }

  /** @param {string} words */
  #showProgress(words) {
    const line = document.querySelector(".summing-up");
    if (line) line.textContent = words;
  }

  /** @param {() => Promise<void>} deed */
  async #attempt(deed) {
    try {
      await deed();
    } catch (error) {
      toast(reasonOf(error));
    }
  }

  /** @param {string} command @param {Record<string, unknown>} [params] */
  #call(command, params = {}) {
    return this.#wire.call(`chat.${command}`, { chat_id: this.#chatId, ...params });
  }
}

/**
 * Marks the messages that a summary replaces, and offers undo for the newest summary. Without its
 * boundary on the page, which is older or left out by a gap, those above a gap stay as the server has marked them.
 * @param {Element} page  Holds the newest messages.
 * @param {PanelState} [state]
 */
export function markCompacted(page, state) {
  const newest = /** @type {HTMLElement | undefined} */ ([...page.querySelectorAll(".messages")].at(-1));
  const { boundary = "", summary = "" } = newest?.dataset ?? {};
  const messages = messagesIn(page);
  const place = messages.findIndex((message) => message.dataset.messageId === boundary);
  const summaries = messages.filter(({ dataset }) => dataset.summarizes && !("failed" in dataset));
  const behind = new Set(summaries.flatMap(({ dataset }) => /** @type {string[]} */ (JSON.parse(dataset.summarizes ?? "[]"))));
  const gap = place < 0 && boundary ? messages.findIndex(({ dataset }) => "afterGap" in dataset) : -1;
  for (const [at, message] of messages.entries()) {
    const isBehind = behind.has(message.dataset.messageId ?? "");
    message.toggleAttribute("data-behind", isBehind);
    message.toggleAttribute("data-compacted", at <= place || isBehind || (at < gap && "compacted" in message.dataset));
  }
  for (const undo of page.querySelectorAll("[data-action=undo-compaction]")) {
    const message = /** @type {HTMLElement | null} */ (undo.closest("[data-message-id]"));
    undo.toggleAttribute("hidden", message?.dataset.messageId !== summary && !message?.dataset.summarizes);
  }
  if (state) tellStillSent(page, summary, state, messages.slice(place + 1));
}

/**
 * Says on the newest summary's card how many of the messages above it are sent all the same.
 * @param {Element} page
 * @param {string} summary
 * @param {PanelState} state
 * @param {readonly HTMLElement[]} since  The messages after the summary's boundary.
 */
function tellStillSent(page, summary, { sticky, pinned, hidden }, since) {
  const below = new Set(since.map(({ dataset }) => dataset.messageId));
  const kept = [...new Set([...sticky, ...pinned])].filter((id) => !hidden.has(id) && !below.has(id));
  for (const words of page.querySelectorAll(".summary-still")) {
    const isNewest = words.closest("[data-message-id]")?.id === `m-${summary}`;
    words.textContent = `(${numbered(kept.length)} of them still sent)`;
    words.toggleAttribute("hidden", !isNewest || !kept.length);
  }
}
