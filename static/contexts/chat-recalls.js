// @ts-check
/** What other chats said, sent with each message: chips by the message box, and a dialog to recall. */

import { short } from "./context-draft.js";
import { find } from "../lib/find.js";
import { clone } from "../lib/from-template.js";
import { counted, messagesCounted, numbered, reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

const SETTLE_MS = 150;

/** @typedef {Record<string, any>} Recall  As `smart_context.recalls` gives it. */

export class ChatRecalls {
  #wire;
  #chatId;
  #announce;
  /** @type {readonly Recall[]} */
  #recalls = [];
  #wish = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {import("../wire.js").Wire} wire @param {string} chatId @param {(words: string) => void} announce */
  constructor(wire, chatId, announce) {
    this.#wire = wire;
    this.#chatId = chatId;
    this.#announce = announce;
  }

  start() {
    find(".add-recall").addEventListener("click", () => this.open());
    find(".composer-recalls").addEventListener("click", (event) => {
      const target = event.target instanceof Element ? event.target : null;
      const chip = /** @type {HTMLElement | null | undefined} */ (target?.closest("li"));
      if (!chip) return;
      if (target?.closest(".chip-remove")) this.#forget(chip.dataset.recall ?? "");
      else if (target?.closest(".chip-name")) this.#showSources(chip.dataset.recall ?? "");
    });
    for (const dialog of [this.#dialog, this.#sources]) {
      dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    }
    this.#sources.querySelector("[data-take-off]")?.addEventListener("click", () => {
      this.#sources.close();
      this.#forget(this.#sources.dataset.recall ?? "");
    });
    const form = /** @type {HTMLFormElement} */ (this.#dialog.querySelector("form[data-recall-form]"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(form);
    });
    this.#wire.on("smart_context.contexts_changed", (news) => news.chat_id === this.#chatId && this.#soon());
    // A chat that is deleted, restored or made private changes what is sent.
    this.#wire.on("memory.chat_changed", (news) => this.#concerns(news.chat_id) && this.#soon());
  }

  /** Asks what to recall. */
  open() {
    this.#say("");
    this.#dialog.showModal();
    const box = /** @type {HTMLInputElement} */ (this.#dialog.querySelector("input[type=search]"));
    box.select();
    box.focus();
  }

  /**
   * Recalls what was said about something; asks if there are no words.
   * @param {string} query
   * @param {number} [most]  Tokens.
   */
  async recall(query, most) {
    if (!query.trim()) {
      this.open();
      return;
    }
    find(".recalling").hidden = false;
    try {
      const made = await this.#call("recall", { query: query.trim(), ...(most && { max_tokens: most }) });
      await this.refresh();
      this.#announce(`Recalled ${messagesCounted(made.messages)} of ${counted(made.chats, "chat")}, ${counted(made.tokens, "token")}.`);
    } finally {
      find(".recalling").hidden = true;
    }
  }

  /** Fetches the chips again. */
  async refresh() {
    const wish = ++this.#wish;
    const state = await this.#call("recalls", {}).catch(() => null);
    if (state && wish === this.#wish) this.#show(state);
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), SETTLE_MS);
  }

  /** @param {string} chatId */
  #concerns(chatId) {
    return this.#recalls.some(({ sources, missing }) => missing.includes(chatId) || sources.some((/** @type {any} */ source) => source.chat_id === chatId));
  }

  /** @param {HTMLFormElement} form */
  async #submit(form) {
    const asked = new FormData(form);
    const query = String(asked.get("query") ?? "");
    if (!query.trim()) {
      this.#say("Type what it was about.");
      return;
    }
    const button = /** @type {HTMLButtonElement} */ (form.querySelector("button.primary"));
    button.disabled = true;
    this.#say("Looking through your chats…");
    try {
      await this.recall(query, Number(asked.get("most")) || undefined);
      this.#dialog.close();
    } catch (error) {
      this.#say(reasonOf(error));
    } finally {
      button.disabled = false;
    }
  }

  /** @param {{ recalls: Recall[] }} state */
  #show({ recalls }) {
    this.#wish += 1;
    this.#recalls = recalls;
    const list = find(".composer-recalls .chips");
    const focused = /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest(".composer-recalls li"))?.dataset.recall;
    list.replaceChildren(...recalls.map(chipOf));
    find(".composer-recalls").hidden = !recalls.length;
    for (const chip of list.children) {
      if (/** @type {HTMLElement} */ (chip).dataset.recall === focused) chip.querySelector("button")?.focus();
    }
  }

  /** @param {string} id */
  async #forget(id) {
    const place = this.#recalls.findIndex(({ recall_id: each }) => each === id);
    try {
      this.#show(await this.#call("forget_recall", { recall_id: id }));
    } catch (error) {
      toast(reasonOf(error));
      return;
    }
    const chips = find(".composer-recalls .chips").children;
    const heir = chips[Math.min(place, chips.length - 1)]?.querySelector("button");
    /** @type {HTMLElement} */ (heir ?? find(".attach-button")).focus();
    this.#announce("No longer recalled.");
  }

  /** Shows which chats a recall is made of. @param {string} id */
  #showSources(id) {
    const recall = this.#recalls.find(({ recall_id: each }) => each === id);
    if (!recall) return;
    const dialog = this.#sources;
    dialog.dataset.recall = id;
    const set = (/** @type {string} */ selector, /** @type {string} */ text) => {
      /** @type {HTMLElement} */ (dialog.querySelector(selector)).textContent = text;
    };
    set("h2", visible(recall.label));
    set("[data-recall-words]", stateOf(recall).words);
    const list = /** @type {HTMLElement} */ (dialog.querySelector("ul"));
    list.replaceChildren(...recall.sources.map((/** @type {any} */ source) => {
      const row = clone("recall-source-template");
      const link = /** @type {HTMLAnchorElement} */ (row.querySelector("a"));
      link.href = `/chats/${encodeURIComponent(source.chat_id)}#m-${encodeURIComponent(source.message_ids[0])}`;
      /** @type {HTMLElement} */ (row.querySelector(".pick-name")).textContent = visible(source.title);
      /** @type {HTMLElement} */ (row.querySelector(".pick-place")).textContent = messagesCounted(source.message_ids.length);
      return row;
    }));
    dialog.showModal();
  }

  /** @param {string} words */
  #say(words) {
    /** @type {HTMLElement} */ (this.#dialog.querySelector("[role=status]")).textContent = words;
  }

  /** @param {string} command @param {Record<string, unknown>} params */
  #call(command, params) {
    return this.#wire.call(`smart_context.${command}`, { chat_id: this.#chatId, ...params });
  }

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (document.getElementById("recall-dialog"));
  }

  get #sources() {
    return /** @type {HTMLDialogElement} */ (document.getElementById("recall-sources"));
  }
}

/** @param {Recall} recall */
function chipOf(recall) {
  const made = clone("recall-chip-template");
  made.dataset.recall = recall.recall_id;
  const { size, words, warns } = stateOf(recall);
  const name = /** @type {HTMLElement} */ (made.querySelector(".chip-name"));
  name.textContent = visible(recall.label);
  /** @type {HTMLElement} */ (made.querySelector(".chip-size")).textContent = size;
  /** @type {HTMLElement} */ (made.querySelector(".chip-words")).textContent = words;
  made.title = words;
  made.toggleAttribute("data-warns", warns);
  /** @type {HTMLElement} */ (made.querySelector(".chip-remove span")).textContent = `Take off ${visible(recall.label)}`;
  return made;
}

/** What a recall costs and leaves out, short and in full, and whether there is a problem. @param {Recall} recall */
export function stateOf(recall) {
  if (recall.problem) return { size: "not sent", words: recall.problem, warns: true };
  const said = [`${messagesCounted(recall.messages)} of ${counted(recall.chats, "chat")}, ${numbered(recall.tokens)} of ${counted(recall.max_tokens, "token")}.`];
  if (recall.left_out) said.push(`${messagesCounted(recall.left_out)} left out: there is no room.`);
  if (recall.is_cut) said.push("The end of its only message is cut off.");
  if (recall.missing.length) said.push(`${counted(recall.missing.length, "chat")} missing: deleted or private.`);
  const parts = [short(recall.tokens)];
  if (recall.left_out) parts.push(`${numbered(recall.left_out)} left out`);
  if (recall.missing.length) parts.push(`${numbered(recall.missing.length)} missing`);
  return { size: parts.join(" · "), words: said.join(" "), warns: recall.missing.length > 0 || !recall.messages };
}
