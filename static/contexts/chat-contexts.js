// @ts-check
/** The notes that go with each message of a chat: chips by the message box, and a dialog to add. */

import { chipOf } from "./context-chip.js";
import { wordsOf } from "./context-draft.js";
import { clone } from "../lib/from-template.js";
import { counted, reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

const SETTLE_MS = 150;

/** @typedef {import("./context-chip.js").Chip} Chip */

export class ChatContexts {
  #wire;
  #chatId;
  /** @type {readonly Chip[]} */
  #chips = [];
  #wish = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {import("../wire.js").Wire} wire @param {string} chatId */
  constructor(wire, chatId) {
    this.#wire = wire;
    this.#chatId = chatId;
  }

  start() {
    find(".add-context").addEventListener("click", () => this.#open());
    find(".composer-contexts").addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest(".chip-remove") : null;
      const chip = /** @type {HTMLElement | null | undefined} */ (pressed?.closest("li"));
      if (chip) this.#remove(chip);
    });
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
      const pressed = event.target instanceof Element ? event.target.closest(".pick") : null;
      if (pressed instanceof HTMLElement) this.#pick(pressed);
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
    if (state && wish === this.#wish) this.#show(state);
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), SETTLE_MS);
  }

  /** @param {{ contexts: Chip[] }} state */
  #show({ contexts }) {
    this.#wish += 1;
    this.#chips = contexts;
    const list = find(".composer-contexts .chips");
    const focused = /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest(".composer-contexts li"))?.dataset.key;
    list.replaceChildren(...contexts.map((chip) => chipOf(chip, this.#chatId)));
    find(".composer-contexts").hidden = !contexts.length;
    for (const chip of list.children) {
      if (/** @type {HTMLElement} */ (chip).dataset.key === focused) chip.querySelector("button")?.focus();
    }
    for (const pick of this.#dialog.querySelectorAll("[data-key]")) this.#press(/** @type {HTMLElement} */ (pick));
  }

  /** @param {HTMLElement} chip */
  async #remove(chip) {
    const heir = chip.nextElementSibling ?? chip.previousElementSibling;
    const key = /** @type {HTMLElement | null} */ (heir)?.dataset.key;
    await this.#attempt("detach_context", { key: chip.dataset.key });
    const next = [...find(".composer-contexts .chips").children].find((other) => /** @type {HTMLElement} */ (other).dataset.key === key);
    /** @type {HTMLElement} */ (next?.querySelector("button") ?? find(".attach-button")).focus();
  }

  async #open() {
    this.#list("suggested").replaceChildren();
    this.#empty("suggested").hidden = false;
    this.#empty("suggested").textContent = "Looking…";
    this.#dialog.showModal();
    await Promise.all([this.#showNamed(), this.#showSuggested()]).catch((error) => toast(reasonOf(error)));
  }

  async #showNamed() {
    const { contexts } = await this.#wire.call("smart_context.list_contexts");
    const offered = contexts.filter((/** @type {any} */ context) => !context.chat_id || context.chat_id === this.#chatId);
    const picks = offered.map((/** @type {any} */ context) => {
      const pick = pickOf(context.chat_id ? "Notes of this chat" : context.key, counted(context.items, "item"));
      pick.firstElementChild?.setAttribute("data-key", context.key);
      this.#press(/** @type {HTMLElement} */ (pick.firstElementChild));
      return pick;
    });
    this.#list("named").replaceChildren(...picks);
    this.#empty("named").hidden = picks.length > 0;
  }

  async #showSuggested() {
    const { notes, about, remark } = await this.#call("suggest_notes", {});
    find("[data-suggested]").textContent = about.length ? `Notes close to ${about.map(visible).join(", ")}` : "Notes close to this chat";
    const sent = new Set(this.#chips.flatMap((chip) => chip.sent));
    const picks = notes.filter((/** @type {string} */ path) => !sent.has(path)).map((/** @type {string} */ path) => {
      const { name, place } = wordsOf(path);
      const pick = pickOf(name, place);
      const button = /** @type {HTMLElement} */ (pick.firstElementChild);
      button.dataset.path = path;
      /** @type {HTMLElement} */ (button.querySelector(".pick-state")).textContent = "Add";
      return pick;
    });
    this.#list("suggested").replaceChildren(...picks);
    this.#empty("suggested").hidden = picks.length > 0 && !remark;
    this.#empty("suggested").textContent = remark || "No other notes come close.";
  }

  /** @param {HTMLElement} pick */
  async #pick(pick) {
    const { key, path } = pick.dataset;
    if (key) await this.#attempt(this.#isAttached(key) ? "detach_context" : "attach_context", { key });
    else if (path && (await this.#attempt("add_notes", { paths: [path] }))) {
      const next = pick.closest("li")?.nextElementSibling ?? pick.closest("li")?.previousElementSibling;
      pick.closest("li")?.remove();
      /** @type {HTMLElement} */ (next?.querySelector("button") ?? this.#dialog.querySelector("button"))?.focus();
      await this.#showNamed();
    }
  }

  /** Shows whether a context is attached. @param {HTMLElement} pick */
  #press(pick) {
    const isAttached = this.#isAttached(pick.dataset.key ?? "");
    pick.setAttribute("aria-pressed", String(isAttached));
    /** @type {HTMLElement} */ (pick.querySelector(".pick-state")).textContent = isAttached ? "Attached" : "";
  }

  /** @param {string} key */
  #isAttached(key) {
    return this.#chips.some((chip) => chip.key === key);
  }

  /** @param {string} command @param {Record<string, unknown>} params */
  async #attempt(command, params) {
    try {
      this.#show(await this.#call(command, params));
      return true;
    } catch (error) {
      toast(reasonOf(error));
      return false;
    }
  }

  /** @param {string} command @param {Record<string, unknown>} params */
  #call(command, params) {
    return this.#wire.call(`smart_context.${command}`, { chat_id: this.#chatId, ...params });
  }

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (document.getElementById("contexts-dialog"));
  }

  /** @param {string} name */
  #list(name) {
    return find(`[data-list=${name}]`);
  }

  /** @param {string} name */
  #empty(name) {
    return find(`[data-empty=${name}]`);
  }
}

/** @param {string} name @param {string} place */
function pickOf(name, place) {
  const pick = clone("pick-template");
  /** @type {HTMLElement} */ (pick.querySelector(".pick-name")).textContent = visible(name);
  /** @type {HTMLElement} */ (pick.querySelector(".pick-place")).textContent = visible(place);
  return pick;
}

/** @param {string} selector */
function find(selector) {
  return /** @type {HTMLElement} */ (document.querySelector(selector));
}
