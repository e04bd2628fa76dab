// @ts-check
/** What a context contains: totals, problems, the notes of each depth, and the text. */

import { find } from "../lib/find.js";
import { clone } from "../lib/from-template.js";
import { wordsOf } from "./context-draft.js";
import { counted, numbered, visible } from "../lib/text.js";
import { showGraph } from "./context-graph.js";

/** @typedef {Record<string, any>} Preview  As `smart_context.preview_context` gives it. */

const PATIENCE_MS = 350;

export class ContextPreview {
  #root;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /** Says that an update is coming if it takes long. */
  wait() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#root.toggleAttribute("data-waiting", true);
      const total = find(".total", this.#root);
      if (!total.textContent) total.textContent = "Reading the notes…";
    }, PATIENCE_MS);
  }

  /** @param {Preview} preview */
  show(preview) {
    this.#end();
    const notes = preview.depths.reduce((/** @type {number} */ sum, /** @type {any} */ depth) => sum + depth.count, 0);
    find(".total", this.#root).replaceChildren(...totalOf(preview, notes));
    find(".reason", this.#root).hidden = true;
    this.#showBudget(preview, notes);
    const open = new Set([...this.#root.querySelectorAll(".finding[open]")].map((one) => /** @type {HTMLElement} */ (one).dataset.kind));
    find(".findings", this.#root).replaceChildren(...findingsOf(preview));
    for (const one of this.#root.querySelectorAll(".finding")) {
      if (open.has(/** @type {HTMLElement} */ (one).dataset.kind)) one.setAttribute("open", "");
    }
    const isAlone = preview.depths.length === 1 && preview.depths[0].depth === 0;
    find(".depths", this.#root).replaceChildren(...preview.depths.map((/** @type {any} */ depth) => depthOf(depth, isAlone)));
    if (notes) find(".depths", this.#root).append(around(preview.tokens_around));
    for (const [i, row] of this.#root.querySelectorAll(".item").entries()) row.id = `item-${i}`;
    showGraph(/** @type {SVGSVGElement} */ (this.#root.querySelector(".graph")), /** @type {any} */ (preview));
    find(".columns", this.#root).hidden = !notes;
    find(".compiled", this.#root).hidden = !preview.text;
    find(".compiled pre", this.#root).textContent = visible(preview.text);
    find(".compiled-cut", this.#root).hidden = !preview.text_is_cut;
    this.#copy.disabled = !preview.text;
  }

  /** @param {string} words */
  fail(words) {
    this.#end();
    const reason = find(".reason", this.#root);
    reason.textContent = words;
    reason.hidden = false;
  }

  #end() {
    clearTimeout(this.#timer);
    this.#root.removeAttribute("data-waiting");
  }

  /** @param {Preview} preview @param {number} notes */
  #showBudget(preview, notes) {
    const note = find(".budget-note", this.#root);
    note.hidden = !notes || !preview.budget || preview.tokens <= preview.budget;
    note.textContent = `Too long to send whole: a chat sends up to ${numbered(preview.budget)} tokens of its contexts, from the top.`;
  }

  get #copy() {
    return /** @type {HTMLButtonElement} */ (find("#copy-context", this.#root));
  }
}

/** @param {Preview} preview @param {number} notes */
function totalOf(preview, notes) {
  if (!notes) return [element("span", "aside", "Nothing selected yet.")];
  const tokens = element("strong", "", numbered(preview.tokens));
  return [tokens, element("span", "", ` ${preview.tokens === 1 ? "token" : "tokens"}`), element("span", "aside", ` · ${counted(preview.characters, "character")} · ${counted(notes, "note")}`)];
}

/** The findings that users should know about, each kind as a list that opens. @param {Preview} preview */
function findingsOf(preview) {
  const cut = preview.truncated.map((/** @type {string} */ key) => [key, ""]);
  const skipped = preview.skipped.map((/** @type {any} */ one) => [one.key, one.characters === null ? "" : counted(one.characters, "character")]);
  const missing = preview.missing.map((/** @type {any} */ one) => [one.name, one.why]);
  const ambiguous = preview.ambiguous.map((/** @type {any} */ one) => [`[[${one.target}]]`, `in ${one.source}: took ${one.candidates[0]}, not ${one.candidates.slice(1).join(", ")}`]);
  const excluded = Object.entries(preview.exclusions).map(([pattern, count]) => [pattern, counted(Number(count), "section")]);
  const limit = preview.is_bounded ? "the limit of this page" : `the limit of ${counted(preview.limit, "character")}`;
  return [
    finding("missing", preview.missing_count, `${numbered(preview.missing_count)} not found`, missing),
    finding("cut", cut.length, `${numbered(cut.length)} cut to fit`, cut),
    finding("skipped", preview.skipped_count, `${numbered(preview.skipped_count)} left out: beyond ${limit}`, skipped),
    finding("ambiguous", ambiguous.length, `${counted(ambiguous.length, "ambiguous link")}`, ambiguous),
    finding("excluded", excluded.length, "Sections left out by heading", excluded),
  ].filter((found) => found !== null);
}

/** @param {string} kind @param {number} count @param {string} words @param {string[][]} rows */
function finding(kind, count, words, rows) {
  if (!count) return null;
  const box = clone("finding-template");
  box.dataset.kind = kind;
  /** @type {HTMLElement} */ (box.querySelector("summary span")).textContent = words;
  box.querySelector("ul")?.append(...rows.map(([key, why]) => {
    const row = document.createElement("li");
    row.append(element("span", "finding-key", visible(key)), element("span", "aside", visible(why ? ` ${why}` : "")));
    return row;
  }));
  return box;
}

/** @param {any} depth @param {boolean} isAlone */
function depthOf(depth, isAlone) {
  const section = document.createElement("section");
  section.className = "depth";
  const title = element("h3", "", depth.depth === 0 ? "Chosen" : `${depth.depth} ${depth.depth === 1 ? "link" : "links"} away`);
  const head = element("p", "depth-head", "");
  title.append(element("span", "aside", ` · ${counted(depth.count, "note")}`));
  const cost = element("span", "item-tokens", numbered(depth.tokens));
  cost.append(element("span", "visually-hidden", " tokens"));
  head.append(title, cost);
  if (isAlone) head.classList.add("visually-hidden");
  const list = document.createElement("ul");
  list.append(...depth.items.map((/** @type {any} */ item) => itemOf(item)));
  const rest = depth.count - depth.items.length;
  if (rest > 0) list.append(element("li", "aside", `and ${numbered(rest)} more`));
  section.append(head, list);
  return section;
}

/** What is sent around the notes, so that the tokens sum up. @param {number} tokens */
function around(tokens) {
  const line = element("p", "depth-head", "");
  const cost = element("span", "item-tokens", numbered(tokens));
  cost.append(element("span", "visually-hidden", " tokens"));
  line.append(element("span", "aside", "Heading, and what tells the model that these are notes"), cost);
  return line;
}

/** @param {{ key: string, characters: number, tokens: number, cut_from?: number }} item */
function itemOf({ key, characters, tokens, cut_from: whole }) {
  const { name, place } = wordsOf(key);
  const row = document.createElement("li");
  row.className = "item";
  row.title = visible(key);
  const words = element("span", "item-words", "");
  const label = element("span", "item-name", visible(name));
  label.dir = "auto";
  words.append(label, element("span", "item-place", visible(place)));
  const size = element("span", "item-size", whole ? `${numbered(characters)} of ${numbered(whole)}` : numbered(characters));
  size.append(element("span", "visually-hidden", " characters"));
  const cost = element("span", "item-tokens", numbered(tokens));
  cost.append(element("span", "visually-hidden", " tokens"));
  row.append(words, size, cost);
  if (whole) row.dataset.cut = "";
  return row;
}

/** @param {string} tag @param {string} className @param {string} text */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}
