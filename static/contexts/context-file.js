// @ts-check
/** Opens, saves, deletes and attaches the named context that is being built. */

import { find } from "../lib/find.js";
import { fetchPage } from "../lib/fragments.js";
import { clone } from "../lib/from-template.js";
import { markOf } from "./context-draft.js";
import { asked } from "../composer/output-guard.js";
import { reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {{ items: readonly string[], options: Record<string, any> }} Draft */

export class ContextFile {
  #call;
  #draft;
  #onOpen;
  #key = document.body.dataset.key ?? "";
  #chatId = document.body.dataset.chatId ?? "";
  #savedMark = markOf([], {});
  #isSaving = false;

  /**
   * @param {(command: string, params: Record<string, unknown>) => Promise<any>} call
   * @param {() => Draft} draft  What is on the page now.
   * @param {(context: Draft) => void} onOpen  Shows what was stored.
   */
  constructor(call, draft, onOpen) {
    this.#call = call;
    this.#draft = draft;
    this.#onOpen = onOpen;
    find("#name-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    this.#name.addEventListener("input", () => this.showState());
    find("#delete-context").addEventListener("click", () => this.#delete());
    addEventListener("beforeunload", (event) => this.#isChanged && event.preventDefault());
  }

  /** Shows the context of the page's address. */
  async open() {
    if (!this.#key) return this.showState();
    try {
      const context = await this.#call("get_context", { key: this.#key });
      this.#savedMark = markOf(context.items, context.options);
      this.#onOpen(context);
      // In the form's notation: an option set to its default is no change.
      this.#savedMark = this.#mark;
    } catch (error) {
      toast(reasonOf(error));
    }
    this.showState();
  }

  /** Stores it under its name; gives the name, or nothing if it could not be stored. */
  async save() {
    const name = this.#name.value.trim();
    if (!name) {
      this.#name.focus();
      this.#say("Give it a name first.");
      return "";
    }
    if (this.#isEmpty) {
      this.#say("Choose a note first.");
      return "";
    }
    this.#isSaving = true;
    try {
      const saved = await this.#store(name);
      if (!saved) return "";
      this.#key = saved.key;
      this.#name.value = saved.key;
      this.#savedMark = this.#mark;
      history.replaceState(null, "", `/contexts/${encodeURIComponent(saved.key)}${this.#chatId ? `?chat=${this.#chatId}` : ""}`);
      document.body.dataset.key = saved.key;
      await this.refreshList();
      this.showState();
      return saved.key;
    } catch (error) {
      toast(reasonOf(error));
      return "";
    } finally {
      this.#isSaving = false;
    }
  }

  /** Saves it if necessary, and attaches it to a chat. @param {HTMLSelectElement} chat */
  async attach(chat) {
    if (this.#isEmpty) return toast("Choose a note first: this context is empty.");
    const key = this.#key && !this.#isChanged ? this.#key : await this.save();
    if (!key) return undefined;
    try {
      chat.selectedOptions[0].value ||= await newChatId();
      await this.#call("attach_context", { chat_id: chat.value, key });
      toast(`“${key}” goes with every message of “${chat.selectedOptions[0].text}”.`, {
        label: "Open the chat",
        act: () => location.assign(`/chats/${encodeURIComponent(chat.value)}`),
      });
    } catch (error) {
      toast(reasonOf(error));
    }
  }

  /** Handles a context that was saved or deleted, here or elsewhere. @param {string} key */
  async hear(key) {
    await this.refreshList().catch(() => {});
    if (key !== this.#key || this.#isSaving) return;
    const stored = await this.#call("get_context", { key }).catch(() => null);
    if (!stored || markOf(stored.items, stored.options) === this.#mark) return;
    if (!this.#isChanged) await this.open();
    else toast(`“${key}” was changed elsewhere. Saving will overwrite those changes.`);
  }

  async refreshList() {
    const { contexts } = await this.#call("list_contexts", {});
    find("#context-list").replaceChildren(...contexts.map((/** @type {any} */ context) => {
      const entry = clone("entry-template");
      const link = /** @type {HTMLAnchorElement} */ (entry.querySelector("a"));
      link.href = `/contexts/${encodeURIComponent(context.key)}${this.#chatId ? `?chat=${this.#chatId}` : ""}`;
      if (context.key === this.#key) link.setAttribute("aria-current", "page");
      /** @type {HTMLElement} */ (entry.querySelector(".chat-title")).textContent = visible(context.key);
      /** @type {HTMLElement} */ (entry.querySelector(".entry-count")).textContent = String(context.items);
      return entry;
    }));
    find("#no-contexts").hidden = contexts.length > 0;
  }

  /** Shows whether the context is saved, and what saving would do. */
  showState() {
    const isNew = this.#name.value.trim() !== this.#key;
    const save = /** @type {HTMLButtonElement} */ (find("#save-context"));
    save.textContent = this.#key && isNew ? "Save as new" : "Save";
    save.disabled = !this.#isChanged || this.#isEmpty;
    find("#delete-context").hidden = !this.#key;
    this.#say(!this.#key && !this.#isChanged ? "" : this.#isChanged ? "Not saved" : "Saved");
    document.title = document.title.replace(/^.*? · /, `${visible(this.#key) || "New context"} · `);
  }

  /** @param {string} name */
  async #store(name) {
    const { items, options } = this.#draft();
    const save = (/** @type {boolean} */ replace) => this.#call("save_context", { key: name, items, options, replace });
    try {
      return await save(name === this.#key);
    } catch (error) {
      if (!reasonOf(error).includes("already")) throw error;
      if (!(await asked("Replace it?", `A context named “${name}” already exists.`, "Replace"))) return null;
      return save(true);
    }
  }

  async #delete() {
    if (!(await asked("Delete this context?", `Chats that use “${this.#key}” go on without it. Your notes stay.`, "Delete"))) return;
    try {
      await this.#call("delete_context", { key: this.#key });
      this.#savedMark = this.#mark;
      this.#name.value = this.#key;
      location.assign(`/contexts${this.#chatId ? `?chat=${this.#chatId}` : ""}`);
    } catch (error) {
      toast(reasonOf(error));
    }
  }

  get #isEmpty() {
    return !this.#draft().items.length;
  }

  get #mark() {
    const { items, options } = this.#draft();
    return markOf(items, options);
  }

  get #isChanged() {
    return this.#mark !== this.#savedMark || this.#name.value.trim() !== this.#key;
  }

  get #name() {
    return /** @type {HTMLInputElement} */ (find("#context-name"));
  }

  /** @param {string} words */
  #say(words) {
    const state = /** @type {HTMLElement} */ (document.querySelector(".saved-state"));
    if (state.textContent !== words) state.textContent = words;
  }
}

/** The id of a chat that begins. */
async function newChatId() {
  const { body } = await fetchPage("/new");
  return body.dataset.chatId ?? "";
}
