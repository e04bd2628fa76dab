// @ts-check
/** The dialog that adds notes: once, with every message, or saved under a name. */

import { wordsOf } from "../contexts/context-draft.js";
import { isComposing } from "../lib/composing.js";
import { find } from "../lib/find.js";
import { clone } from "../lib/from-template.js";
import { newest } from "../lib/newest.js";
import { counted, numbered, reasonOf, visible } from "../lib/text.js";
import { markOf } from "./attached.js";

/** @typedef {import("./attachments.js").Attachments} Attachments */
/** @typedef {import("../contexts/chat-contexts.js").ChatContexts} ChatContexts */
/** @typedef {{ key: string, chat_id: string, items: number }} Named  As `smart_context.list_contexts` gives it. */
/** @typedef {{ paths: string[], total: number, title: string, remark: string }} Found */

const TYPING_MS = 150;
const SHOWN = 40;
const PICTURE = /\.(?:png|jpe?g|gif|webp)$/i;
const ADDED = { once: "Goes once", each: "Goes always", name: "Chosen" };

export class NotesDialog {
  #wire;
  #chatId;
  #attachments;
  #contexts;
  #search;
  /** @type {readonly Named[]} */
  #named = [];
  /** What is to be saved under a name. @type {Set<string>} */
  #chosen = new Set();
  /** What the list was found by. */
  #listed = "";
  /** The first note is added as soon as it is found. */
  #isAwaited = false;

  /** @param {import("../wire.js").Wire} wire @param {string} chatId @param {Attachments} attachments @param {ChatContexts} contexts */
  constructor(wire, chatId, attachments, contexts) {
    this.#wire = wire;
    this.#chatId = chatId;
    this.#attachments = attachments;
    this.#contexts = contexts;
    this.#search = newest(TYPING_MS, (/** @type {Found} */ found) => this.#show(found), (error) => this.#tell(reasonOf(error)));
  }

  start() {
    find(".add-notes").addEventListener("click", () => this.#open());
    this.#box.addEventListener("input", () => this.#look());
    this.#box.addEventListener("keydown", (event) => this.#finish(event));
    this.#dialog.addEventListener("keydown", (event) => this.#step(event));
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
      const pressed = event.target instanceof Element ? event.target.closest(".pick") : null;
      if (pressed instanceof HTMLElement) this.#pick(pressed);
    });
    find(".notes-ways").addEventListener("change", () => this.#look());
    find("#notes-name").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
    document.addEventListener("chat-contexts-shown", () => this.#press());
  }

  #open() {
    this.#box.value = "";
    this.#chosen.clear();
    for (const list of [this.#files, find("#notes-named")]) list.replaceChildren();
    this.#dialog.showModal();
    this.#box.focus();
    this.#look();
    this.#listNamed().catch((error) => this.#tell(reasonOf(error)));
  }

  async #listNamed() {
    const { contexts } = await this.#wire.call("smart_context.list_contexts");
    this.#named = contexts.filter((/** @type {Named} */ one) => !one.chat_id || one.chat_id === this.#chatId);
    this.#showNamed();
  }

  #look() {
    const query = this.#query;
    this.#isAwaited = false;
    this.#tell("Looking…");
    this.#press();
    this.#showNamed();
    this.#search.ask(() => (query ? this.#found(query) : this.#close()));
  }

  /** @param {string} query @returns {Promise<Found>} */
  async #found(query) {
    // A folder can't be attached to one message, a picture can't be part of a context.
    const command = this.#way === "once" ? "find_files" : "list_notes";
    const { entries, total } = await this.#wire.call(`smart_context.${command}`, { query, limit: SHOWN });
    return { paths: entries.map((/** @type {{ path: string }} */ one) => one.path), total, title: "Found in the vault", remark: "" };
  }

  /** @returns {Promise<Found>} */
  async #close() {
    const { notes, about, remark } = await this.#wire.call("smart_context.suggest_notes", { chat_id: this.#chatId });
    const title = about.length ? `Close to ${about.map(visible).join(", ")}` : "Close to this chat";
    return { paths: notes, total: notes.length, title, remark };
  }

  /** @param {Found} found */
  #show({ paths, total, title, remark }) {
    this.#listed = this.#query;
    find("#notes-found-title").textContent = title;
    this.#files.replaceChildren(...paths.map(noteRow));
    this.#press();
    const nothing = this.#listed ? "No matching files." : "No notes come close. Type part of a name.";
    const more = total > paths.length ? `${numbered(paths.length)} of ${numbered(total)} files; type more to narrow them down.` : remark;
    this.#tell(paths.length ? more : nothing);
    if (this.#isAwaited) this.#pickFirst();
  }

  #showNamed() {
    const words = this.#query.toLowerCase().split(/\s+/);
    const matching = this.#named.filter((one) => words.every((word) => nameOf(one).toLowerCase().includes(word)));
    find("#notes-named").replaceChildren(...matching.map(contextRow));
    find("#notes-named-part").hidden = !matching.length;
    this.#press();
  }

  /** Shows what is added in the way that is chosen, and what Enter takes. */
  #press() {
    for (const [i, pick] of this.#picks.entries()) {
      const isAdded = this.#isAdded(pick.dataset);
      pick.setAttribute("aria-pressed", String(isAdded));
      /** @type {HTMLElement} */ (pick.querySelector(".pick-state")).textContent = isAdded ? ADDED[this.#wayOf(pick)] : "Add";
      pick.toggleAttribute("data-next", i === 0 && this.#query !== "");
    }
    find("#notes-name").hidden = this.#way !== "name";
    find("[data-save-notes]").textContent = this.#chosen.size ? `Save ${counted(this.#chosen.size, "item")}` : "Save";
    for (const hint of this.#dialog.querySelectorAll("[data-way]")) hint.toggleAttribute("hidden", /** @type {HTMLElement} */ (hint).dataset.way !== this.#way);
  }

  /** @param {DOMStringMap} pick */
  #isAdded({ key, path = "" }) {
    if (this.#way === "once") return key === undefined ? this.#fileAt(path) !== undefined : this.#textOf(key) !== undefined;
    if (key !== undefined) return this.#contexts.holds(key);
    return this.#way === "each" ? this.#contexts.ownItems.includes(path) : this.#chosen.has(path);
  }

  /** A context goes once or always; it has a name already. @param {HTMLElement} pick */
  #wayOf(pick) {
    return this.#way === "name" && pick.dataset.key !== undefined ? "each" : this.#way;
  }

  /** @param {HTMLElement} pick */
  async #pick(pick) {
    const { key, path = "" } = pick.dataset;
    const isAdded = pick.ariaPressed === "true";
    this.#tell("");
    try {
      if (this.#way === "once") await (key === undefined ? this.#switchFile(path, isAdded) : this.#switchText(key));
      else if (key !== undefined) await this.#contexts.change(isAdded ? "detach_context" : "attach_context", { key });
      else if (this.#way === "each") await this.#contexts.switchNote(path, !isAdded);
      else if (!this.#chosen.delete(path)) this.#chosen.add(path);
    } catch (error) {
      this.#tell(reasonOf(error));
    }
    this.#press();
  }

  /** @param {string} path @param {boolean} isAdded */
  async #switchFile(path, isAdded) {
    if (isAdded) {
      this.#attachments.drop(markOf(this.#fileAt(path)?.stored ?? null));
      return;
    }
    const stored = await this.#wire.call("chat.attach_vault_file", { path });
    this.#attachments.addStored("file", stored, path);
  }

  /** What goes with the next message of a file of the vault. @param {string} path */
  #fileAt(path) {
    return this.#attachments.all.find((one) => one.path === path);
  }

  /** Sends the text of a context once, as a file: all of it, since its parts were chosen. @param {string} key */
  async #switchText(key) {
    const held = this.#textOf(key);
    if (held) {
      this.#attachments.drop(markOf(held.stored));
      return;
    }
    const { items, options } = await this.#wire.call("smart_context.get_context", { key });
    const { text } = await this.#wire.call("smart_context.compile_context", { items, options });
    this.#attachments.addFiles([{ file: new File([text], fileOf(key), { type: "text/markdown" }), isWhole: true }]);
  }

  /** The text of a context among what is attached. @param {string} key */
  #textOf(key) {
    return this.#attachments.all.find(({ name }) => name === fileOf(key));
  }

  async #save() {
    const field = /** @type {HTMLInputElement} */ (find("#notes-name input"));
    const key = field.value.trim();
    if (!this.#chosen.size || !key) {
      this.#tell(this.#chosen.size ? "Give it a name first." : "Choose a note first.");
      (this.#chosen.size ? field : this.#box).focus();
      return;
    }
    try {
      await this.#wire.call("smart_context.save_context", { key, items: [...this.#chosen], replace: false });
      await this.#contexts.change("attach_context", { key });
      this.#chosen.clear();
      field.value = "";
      await this.#listNamed();
      this.#tell(`“${key}” is saved, and goes with every message of this chat.`);
    } catch (error) {
      this.#tell(reasonOf(error));
    }
  }

  /** Enter in the box adds the first one, which is marked; Escape closes the dialog at once. @param {KeyboardEvent} event */
  #finish(event) {
    if (isComposing(event) || !["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Escape") this.#dialog.close();
    else if (this.#query && this.#listed === this.#query) this.#pickFirst();
    else this.#isAwaited = this.#query !== "";
  }

  async #pickFirst() {
    this.#isAwaited = false;
    const pick = this.#picks[0];
    if (!pick || pick.ariaPressed === "true") return;
    await this.#pick(pick);
    if (pick.ariaPressed === "true") this.#tell(`${pick.querySelector(".pick-name")?.textContent} is added.`);
  }

  /** Arrow keys move from the box through the lists. @param {KeyboardEvent} event */
  #step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    const stops = /** @type {HTMLElement[]} */ ([this.#box, ...this.#picks]);
    const at = stops.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = stops[at + by];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  }

  /** @param {string} words */
  #tell(words) {
    find("#notes-told").textContent = visible(words);
  }

  get #way() {
    return /** @type {keyof typeof ADDED} */ (/** @type {HTMLInputElement} */ (find("[name=notes-way]:checked")).value);
  }

  get #query() {
    return this.#box.value.trim();
  }

  get #picks() {
    return /** @type {HTMLElement[]} */ ([...this.#dialog.querySelectorAll(".pick")]);
  }

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (find("#notes-dialog"));
  }

  get #box() {
    return /** @type {HTMLInputElement} */ (find("#notes-search"));
  }

  get #files() {
    return find("#notes-found");
  }
}

/** @param {Named} context */
function nameOf({ key, chat_id: chatId }) {
  return chatId ? "Notes of this chat" : key;
}

/** @param {string} key */
function fileOf(key) {
  return `${key.replaceAll("/", " ")}.md`;
}

/** @param {Named} context */
function contextRow(context) {
  const row = rowOf(nameOf(context), counted(context.items, "item"), "#icon-topics");
  row.querySelector("button")?.setAttribute("data-key", context.key);
  return row;
}

/** @param {string} path */
function noteRow(path) {
  const { name, place } = wordsOf(path);
  const row = rowOf(name, place, PICTURE.test(path) ? "#icon-image" : path.endsWith("/") ? "#icon-folder" : "#icon-note");
  row.querySelector("button")?.setAttribute("data-path", path);
  return row;
}

/** @param {string} name @param {string} place @param {string} icon */
function rowOf(name, place, icon) {
  const row = clone("pick-template");
  /** @type {HTMLElement} */ (row.querySelector(".pick-name")).textContent = visible(name);
  /** @type {HTMLElement} */ (row.querySelector(".pick-place")).textContent = visible(place);
  row.querySelector("use")?.setAttribute("href", icon);
  return row;
}
