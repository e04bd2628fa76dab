// @ts-check
/** The form with a context's options: from stored ones to fields and back. */

import { fit } from "../lib/fitting.js";

const NUMBERS = /** @type {const} */ (["link_depth", "max_links_per_item", "max_len"]);
const FLAGS = /** @type {const} */ (["inlinks", "expand_embeds"]);
const AROUND_ALL = "-1";
const MOST_DEPTHS = 9;
const CHARACTERS_A_TOKEN = 4;

/** @typedef {import("./context-draft.js").Options} Options */

export class ContextOptionsForm {
  #form;
  #templates;
  #around;
  #onChange;
  /** The size limit that was stored, in characters. */
  #stored = 0;

  /**
   * @param {HTMLFormElement} form
   * @param {HTMLTemplateElement} around  Makes the two fields of one template.
   * @param {() => void} onChange
   */
  constructor(form, around, onChange) {
    this.#form = form;
    this.#templates = /** @type {HTMLElement} */ (form.querySelector("#templates"));
    this.#around = around;
    this.#onChange = onChange;
    form.addEventListener("input", (event) => {
      if (event.target instanceof HTMLTextAreaElement) fit(event.target);
      this.#onChange();
    });
    // The stepper is outside its form.
    const depth = this.#field("link_depth");
    depth.addEventListener("input", () => {
      this.#showDepths();
      this.#onChange();
    });
    depth.parentElement?.addEventListener("click", (event) => {
      const step = event.target instanceof Element ? event.target.closest("[data-step]") : null;
      if (!(step instanceof HTMLElement)) return;
      depth.value = String(Math.max(0, (Math.floor(Number(depth.value)) || 0) + Number(step.dataset.step)));
      depth.dispatchEvent(new Event("input"));
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    this.#showDepths();
  }

  /** The options that differ from the defaults. @returns {Options} */
  read() {
    /** @type {Options} */
    const options = {};
    for (const name of NUMBERS) {
      const count = Math.floor(Number(this.#field(name).value));
      if (count > 0) options[name] = name === "max_len" ? this.#characters(count) : count;
    }
    for (const name of FLAGS) if (this.#field(name).checked) options[name] = true;
    if (!this.#field("follow_links_in_excluded").checked) options.follow_links_in_excluded = false;
    if (this.#field("order").value !== "shortest") options.order = this.#field("order").value;
    const excluded = this.#field("excluded_headings").value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (excluded.length) options.excluded_headings = excluded;
    const templates = this.#readTemplates();
    if (Object.keys(templates).length) options.templates = templates;
    return options;
  }

  /** Fills the form. @param {Options} options */
  show(options) {
    for (const name of NUMBERS) this.#field(name).value = options[name] ? String(options[name]) : "";
    // The stored limit is in characters and is kept unless the user changes it.
    this.#stored = options.max_len ?? 0;
    if (this.#stored) this.#field("max_len").value = String(tokensOf(this.#stored));
    for (const name of FLAGS) this.#field(name).checked = options[name] === true;
    this.#field("follow_links_in_excluded").checked = options.follow_links_in_excluded !== false;
    this.#field("order").value = options.order ?? "shortest";
    this.#field("excluded_headings").value = (options.excluded_headings ?? []).join("\n");
    this.#showDepths();
    for (const around of this.#all()) {
      const { before = "", after = "" } = options.templates?.[around.dataset.depth ?? ""] ?? {};
      const [first, second] = around.querySelectorAll("textarea");
      [first.value, second.value] = [before, after];
    }
    for (const box of this.#form.querySelectorAll("textarea")) fit(box);
  }

  /** @param {number} tokens */
  #characters(tokens) {
    return tokens === tokensOf(this.#stored) ? this.#stored : tokens * CHARACTERS_A_TOKEN;
  }

  /** Template boxes for the whole and for each depth; keeps what was written. */
  #showDepths() {
    const depth = Math.min(Math.floor(Number(this.#field("link_depth").value)) || 0, MOST_DEPTHS);
    const wanted = [AROUND_ALL, ...Array.from({ length: depth + 1 }, (_, i) => String(i))];
    const known = new Set(this.#all().map((around) => around.dataset.depth));
    for (const name of wanted) if (!known.has(name)) this.#templates.append(this.#makeAround(name));
    for (const around of this.#all()) around.hidden = !wanted.includes(around.dataset.depth ?? "");
  }

  /** @param {string} depth */
  #makeAround(depth) {
    const around = /** @type {HTMLElement} */ (
      document.importNode(/** @type {Element} */ (this.#around.content.firstElementChild), true)
    );
    around.dataset.depth = depth;
    const words = depth === AROUND_ALL ? "Around everything" : depth === "0" ? "Around each chosen note" : `Around each note ${depth} ${depth === "1" ? "link" : "links"} away`;
    /** @type {HTMLElement} */ (around.querySelector("legend")).textContent = words;
    for (const box of around.querySelectorAll("textarea")) box.setAttribute("aria-label", `${words}: ${box.placeholder.toLowerCase()}`);
    return around;
  }

  #readTemplates() {
    /** @type {Record<string, { before: string, after: string }>} */
    const templates = {};
    for (const around of this.#all().filter((shown) => !shown.hidden)) {
      const [before, after] = [...around.querySelectorAll("textarea")].map((box) => box.value);
      if (before || after) templates[around.dataset.depth ?? ""] = { before, after };
    }
    return templates;
  }

  #all() {
    return /** @type {HTMLElement[]} */ ([...this.#templates.children]);
  }

  /** @param {string} name */
  #field(name) {
    return /** @type {HTMLInputElement} */ (this.#form.elements.namedItem(name));
  }
}

/** @param {number} characters */
function tokensOf(characters) {
  return Math.ceil(characters / CHARACTERS_A_TOKEN);
}
