// @ts-check
/** The role of the chat: which one shapes its turns, and the files that these are about. */

import { wordsOf } from "../../contexts/context-draft.js";
import { find } from "../../lib/find.js";
import { newest } from "../../lib/newest.js";
import { reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

/** @typedef {{ name: string, description: string, source: string, problem?: string }} Role */
/** @typedef {{ roles: Role[], current: string, targets: string[], problem: string }} Roles */

const SETTLE_MS = 150;
const SUGGESTED = 12;

export class RolePicker {
  #root;
  #wire;
  #chatId;
  /** @type {Roles} */
  #known = { roles: [], current: "", targets: [], problem: "" };
  #refresh;
  #suggest;

  /** @param {HTMLElement} root  The `.role` section. @param {import("../../wire.js").Wire} wire @param {string} chatId */
  constructor(root, wire, chatId) {
    this.#root = root;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#refresh = newest(SETTLE_MS, (/** @type {Roles} */ roles) => this.#show(roles));
    this.#suggest = newest(SETTLE_MS, (/** @type {any} */ found) => this.#offer(found.entries));
  }

  start() {
    this.#select.addEventListener("change", () => this.#take(this.#select.value, []));
    this.#field.addEventListener("input", () => this.#look());
    find("form", this.#root).addEventListener("submit", (event) => {
      event.preventDefault();
      const path = this.#field.value.trim();
      if (path) this.#take(this.#known.current, [...this.#known.targets.filter((one) => one !== path), path]);
    });
    find("ul", this.#root).addEventListener("click", (event) => {
      const chip = event.target instanceof Element && event.target.closest("button") && event.target.closest("li");
      if (!chip) return;
      this.#field.focus();
      this.#take(this.#known.current, this.#known.targets.filter((one) => one !== chip.dataset.key));
    });
    this.#wire.on("smart_context.filter_changed", (news) => {
      const isOurs = news.chat_id === this.#chatId;
      if (isOurs && (news.role || this.#known.current)) this.#ask();
    });
    this.#wire.onStatus((status) => status === "open" && this.#ask());
  }

  #ask() {
    this.#refresh.ask(() => this.#wire.call("smart_context.roles", { chat_id: this.#chatId }));
  }

  /** @param {string} role @param {readonly string[]} targets */
  async #take(role, targets) {
    try {
      this.#show(await this.#wire.call("smart_context.set_role", { chat_id: this.#chatId, role, targets }));
      this.#field.value = "";
    } catch (error) {
      this.#show(this.#known);
      toast(reasonOf(error));
    }
  }

  /** @param {Roles} roles */
  #show(roles) {
    this.#refresh.forget();
    this.#known = roles;
    const { current, targets, problem } = roles;
    const names = roles.roles.map(({ name }) => name);
    // One that is gone is still the chat's, until the user takes another.
    const options = ["", ...names, ...(current && !names.includes(current) ? [current] : [])];
    this.#select.replaceChildren(...options.map((name) => new Option(visible(name) || "None", name, false, name === current)));
    const chosen = roles.roles.find(({ name }) => name === current);
    find(".role-told", this.#root).textContent = visible(problem || (chosen?.description ?? ""));
    this.#root.toggleAttribute("data-amiss", Boolean(problem));
    find(".role-about", this.#root).hidden = !current;
    find("ul", this.#root).replaceChildren(...targets.map((path) => this.#chip(path)));
    find("ul", this.#root).hidden = !targets.length;
  }

  #look() {
    const query = this.#field.value.trim();
    if (query) this.#suggest.ask(() => this.#wire.call("smart_context.list_notes", { query, limit: SUGGESTED }));
  }

  /** @param {readonly { path: string }[]} entries */
  #offer(entries) {
    find("datalist", this.#root).replaceChildren(...entries.map(({ path }) => new Option("", path)));
  }

  /** @param {string} path */
  #chip(path) {
    const template = /** @type {HTMLTemplateElement} */ (this.#root.querySelector("template"));
    const chip = /** @type {HTMLElement} */ (document.importNode(/** @type {Element} */ (template.content.firstElementChild), true));
    const name = visible(wordsOf(path).name);
    chip.dataset.key = path;
    chip.title = visible(path);
    /** @type {HTMLElement} */ (chip.querySelector(".chip-name")).textContent = name;
    /** @type {HTMLElement} */ (chip.querySelector(".visually-hidden")).textContent = `Remove ${name}`;
    return chip;
  }

  get #select() {
    return /** @type {HTMLSelectElement} */ (find("select", this.#root));
  }

  get #field() {
    return /** @type {HTMLInputElement} */ (find("input", this.#root));
  }
}
