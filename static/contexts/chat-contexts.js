// @ts-check
/** The notes that go with every message of a chat, as chips by the message box. Fires `chat-contexts-shown`. */

import { chipOf } from "./context-chip.js";
import { find } from "../lib/find.js";
import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

const SETTLE_MS = 150;

/** @typedef {import("./context-chip.js").Chip} Chip */

export class ChatContexts {
  #wire;
  #chatId;
  /** @type {readonly Chip[]} */
  #chips = [];
  /** @type {readonly string[]} */
  #ownItems = [];
  #wish = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {import("../wire.js").Wire} wire @param {string} chatId */
  constructor(wire, chatId) {
    this.#wire = wire;
    this.#chatId = chatId;
  }

  start() {
    find(".composer-contexts").addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest(".chip-remove") : null;
      const chip = /** @type {HTMLElement | null | undefined} */ (pressed?.closest("li"));
      if (chip) this.#remove(chip);
    });
    this.#wire.on("smart_context.contexts_changed", (news) => {
      const isOurs = !news.chat_id || news.chat_id === this.#chatId;
      // Changed notes matter only if something is attached.
      if (isOurs && (this.#chips.length || !news.notes_changed)) this.#soon();
    });
  }

  /** Fetches the chips again. */
  async refresh() {
    const wish = ++this.#wish;
    const state = await this.#call("chat_contexts", {}).catch(() => null);
    if (state && wish === this.#wish) await this.#show(state);
  }

  /** The notes and folders of the chat's own context while it is sent. */
  get ownItems() {
    return this.#ownItems;
  }

  /** True if a context goes with every message. @param {string} key */
  holds(key) {
    return this.#chips.some((chip) => chip.key === key);
  }

  /** Changes which contexts go, and shows it. @param {string} command @param {Record<string, unknown>} params */
  async change(command, params) {
    await this.#show(await this.#call(command, params));
  }

  /** Puts a note into the chat's own context, or takes it out. @param {string} path @param {boolean} isAdded */
  async switchNote(path, isAdded) {
    const key = this.#ownKey;
    const items = this.#ownItems.filter((item) => item !== path);
    if (isAdded) await this.change("add_notes", { paths: [path] });
    else if (items.length) {
      const { options } = await this.#wire.call("smart_context.get_context", { key });
      await this.#wire.call("smart_context.save_context", { key, items, options });
      await this.refresh();
    } else await this.change("detach_context", { key }); // not deleted, so that it can be undone
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), SETTLE_MS);
  }

  /** @param {{ contexts: Chip[] }} state */
  async #show({ contexts }) {
    const wish = ++this.#wish;
    this.#chips = contexts;
    const list = find(".composer-contexts .chips");
    const focused = /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest(".composer-contexts li"))?.dataset.key;
    list.replaceChildren(...contexts.map((chip) => chipOf(chip, this.#chatId)));
    find(".composer-contexts").hidden = !contexts.length;
    for (const chip of list.children) {
      if (/** @type {HTMLElement} */ (chip).dataset.key === focused) chip.querySelector("button")?.focus();
    }
    const key = this.#ownKey;
    const own = key ? await this.#wire.call("smart_context.get_context", { key }).catch(() => null) : null;
    if (wish !== this.#wish) return;
    this.#ownItems = own?.items ?? [];
    document.dispatchEvent(new CustomEvent("chat-contexts-shown"));
  }

  /** @param {HTMLElement} chip */
  async #remove(chip) {
    const heir = chip.nextElementSibling ?? chip.previousElementSibling;
    const key = /** @type {HTMLElement | null} */ (heir)?.dataset.key;
    await this.change("detach_context", { key: chip.dataset.key }).catch((error) => toast(reasonOf(error)));
    const next = [...find(".composer-contexts .chips").children].find((other) => /** @type {HTMLElement} */ (other).dataset.key === key);
    /** @type {HTMLElement} */ (next?.querySelector("button") ?? find(".attach-button")).focus();
  }

  /** @param {string} command @param {Record<string, unknown>} params */
  #call(command, params) {
    return this.#wire.call(`smart_context.${command}`, { chat_id: this.#chatId, ...params });
  }

  get #ownKey() {
    return this.#chips.find((chip) => chip.is_own)?.key ?? "";
  }
}
