// @ts-check
/** The dialog that attaches files of the vault to a message: related ones, or search results. */

import { wordsOf } from "../contexts/context-draft.js";
import { isComposing } from "../lib/composing.js";
import { clone } from "../lib/from-template.js";
import { newest } from "../lib/newest.js";
import { numbered, reasonOf, visible } from "../lib/text.js";

/** @typedef {import("./attachments.js").Attachments} Attachments */
/** @typedef {{ entries: { path: string, kind: string }[], total: number }} Found */

const TYPING_MS = 150;
const SHOWN = 40;
const PICTURE = /\.(?:png|jpe?g|gif|webp)$/i;

export class VaultPicker {
  #wire;
  #chatId;
  #attachments;
  #search;
  /** What the list was found by. */
  #listed = "";
  /** The first file is attached as soon as it is found. */
  #isAwaited = false;

  /** @param {import("../wire.js").Wire} wire @param {string} chatId @param {Attachments} attachments */
  constructor(wire, chatId, attachments) {
    this.#wire = wire;
    this.#chatId = chatId;
    this.#attachments = attachments;
    this.#search = newest(TYPING_MS, (/** @type {Found} */ found) => this.#show(found), (error) => this.#tell(reasonOf(error)));
  }

  start() {
    document.querySelector("[data-attach=vault]")?.addEventListener("click", () => this.#open());
    this.#box.addEventListener("input", () => this.#look());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
      const pressed = event.target instanceof Element ? event.target.closest(".pick") : null;
      if (pressed instanceof HTMLElement) this.#pick(pressed);
    });
    this.#dialog.addEventListener("keydown", (event) => this.#step(event));
    this.#box.addEventListener("keydown", (event) => this.#finish(event));
  }

  #open() {
    this.#box.value = "";
    this.#list.replaceChildren();
    this.#tell("Looking…");
    this.#dialog.showModal();
    this.#box.focus();
    this.#look();
  }

  #look() {
    const query = this.#query;
    this.#isAwaited = false;
    find("vault-found-title").textContent = query ? "Found in the vault" : "Close to this chat";
    this.#search.ask(() => (query ? this.#found(query) : this.#close()));
  }

  /** @param {string} query @returns {Promise<Found>} */
  #found(query) {
    return this.#wire.call("smart_context.find_files", { query, limit: SHOWN });
  }

  /** @returns {Promise<Found>} */
  async #close() {
    const { notes } = await this.#wire.call("smart_context.suggest_notes", { chat_id: this.#chatId });
    return { entries: notes.map((/** @type {string} */ path) => ({ path, kind: "note" })), total: notes.length };
  }

  /** @param {Found} found */
  #show({ entries, total }) {
    this.#list.replaceChildren(...entries.map(({ path }) => pickOf(path)));
    this.#listed = this.#query;
    const nothing = this.#listed ? "No matching files." : "Type part of a file or folder name.";
    this.#tell(!entries.length ? nothing : total > entries.length ? `${numbered(entries.length)} of ${numbered(total)} files; type more to narrow them down.` : "");
    if (this.#isAwaited) this.#pickFirst();
  }

  /** Enter in the box attaches the first file, which is marked; Escape closes the dialog at once. @param {KeyboardEvent} event */
  #finish(event) {
    if (isComposing(event) || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Escape") this.#dialog.close();
    else if (this.#query && this.#listed === this.#query) this.#pickFirst();
    else this.#isAwaited = this.#query !== "";
  }

  async #pickFirst() {
    this.#isAwaited = false;
    const pick = this.#list.querySelector("button");
    if (!pick || pick.ariaPressed === "true") return;
    await this.#pick(pick);
    if (pick.ariaPressed === "true") this.#tell(`${pick.querySelector(".pick-name")?.textContent} is attached.`);
  }

  get #query() {
    return this.#box.value.trim();
  }

  /** @param {HTMLElement} pick */
  async #pick(pick) {
    const { path = "", key } = pick.dataset;
    const state = /** @type {HTMLElement} */ (pick.querySelector(".pick-state"));
    if (key && this.#attachments.holds(key)) {
      this.#attachments.drop(key);
      press(pick, false);
      return;
    }
    state.textContent = "Reading…";
    try {
      const stored = await this.#wire.call("chat.attach_vault_file", { path });
      this.#attachments.addStored("file", stored);
      pick.dataset.key = stored.storage_key;
      press(pick, this.#attachments.holds(stored.storage_key));
      this.#tell("");
    } catch (error) {
      press(pick, false);
      this.#tell(reasonOf(error));
    }
  }

  /** Arrow keys move from the box through the list. @param {KeyboardEvent} event */
  #step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    const stops = /** @type {HTMLElement[]} */ ([this.#box, ...this.#list.querySelectorAll("button")]);
    const at = stops.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = stops[at + by];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  }

  /** @param {string} words */
  #tell(words) {
    const told = find("vault-told");
    told.textContent = visible(words);
  }

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (find("vault-dialog"));
  }

  get #box() {
    return /** @type {HTMLInputElement} */ (find("vault-search"));
  }

  get #list() {
    return find("vault-found");
  }
}

/** @param {string} path */
function pickOf(path) {
  const pick = clone("pick-template");
  const { name, place } = wordsOf(path);
  const button = /** @type {HTMLElement} */ (pick.querySelector("button"));
  button.dataset.path = path;
  /** @type {HTMLElement} */ (pick.querySelector(".pick-name")).textContent = visible(name);
  /** @type {HTMLElement} */ (pick.querySelector(".pick-place")).textContent = visible(place);
  if (PICTURE.test(path)) button.querySelector("use")?.setAttribute("href", "#icon-image");
  press(button, false);
  return pick;
}

/** @param {HTMLElement} pick @param {boolean} isAttached */
function press(pick, isAttached) {
  pick.setAttribute("aria-pressed", String(isAttached));
  /** @type {HTMLElement} */ (pick.querySelector(".pick-state")).textContent = isAttached ? "Attached" : "Attach";
}

/** @param {string} id */
function find(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
