// @ts-check
/**
 * The vault as a tree of checkboxes, fetched folder by folder and page by page, so that a vault of
 * any size costs what is looked at. One stop of the Tab key; arrows move within.
 */

import { tickOf } from "./context-draft.js";
import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";
import { makeRow, nextButton, partsOf, rowOf } from "./tree-rows.js";

/** @typedef {import("./tree-rows.js").Entry} Entry */
/** @typedef {(command: string, params: Record<string, unknown>) => Promise<any>} Call */

const PAGE = 200;

export class ContextTree {
  #root;
  #call;
  /** @type {readonly string[]} */
  #items = [];
  #query = "";
  #wish = 0;

  /**
   * @param {HTMLElement} root
   * @param {Call} call
   * @param {(key: string, isChosen: boolean) => void} onTick
   */
  constructor(root, call, onTick) {
    this.#root = root;
    this.#call = call;
    root.addEventListener("change", (event) => {
      const box = /** @type {HTMLInputElement} */ (event.target);
      const row = rowOf(box);
      if (row.dataset.tick === "covered") {
        this.#tickRow(row);
        toast("It comes with what is ticked above it. Untick that to choose single notes.");
      } else onTick(row.dataset.key ?? "", box.checked);
    });
    root.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("button") : null;
      if (pressed?.classList.contains("row-open")) this.#toggle(rowOf(pressed));
      if (pressed?.classList.contains("row-next")) this.#more(pressed).catch((error) => toast(reasonOf(error)));
    });
    root.addEventListener("keydown", (event) => this.#move(event));
    root.addEventListener("focusin", (event) => this.#rove(/** @type {HTMLElement} */ (event.target)));
  }

  /** Shows the top folder or the results of a query; returns their number. @param {string} query */
  async show(query) {
    this.#query = query;
    const wish = ++this.#wish;
    const page = await this.#call("list_notes", query ? { query, limit: PAGE } : { limit: PAGE });
    if (wish !== this.#wish) return null;
    this.#put(this.#root, "", page);
    this.#settle();
    return { total: page.total, files: page.files };
  }

  /** Fetches all open folders again after files changed; they stay open. */
  async refresh() {
    await this.show(this.#query);
    const open = [...this.#root.querySelectorAll("li.row[data-kind=folder]:has(> ul)")];
    for (const row of open) await this.#fill(/** @type {HTMLElement} */ (row));
  }

  /** Ticks what is chosen. @param {readonly string[]} items */
  tick(items) {
    this.#items = items;
    for (const row of this.#root.querySelectorAll("li.row")) this.#tickRow(/** @type {HTMLElement} */ (row));
  }

  /** @param {HTMLElement} row */
  async #toggle(row) {
    const below = row.querySelector(":scope > ul");
    const button = /** @type {HTMLElement} */ (row.querySelector(".row-open"));
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (below) below.toggleAttribute("hidden", isOpen);
    else if (!isOpen) await this.#fill(row);
  }

  /** @param {HTMLElement} row */
  async #fill(row) {
    const key = row.dataset.key ?? "";
    row.toggleAttribute("data-waiting", true);
    try {
      const isFolder = row.dataset.kind === "folder";
      const page = isFolder
        ? await this.#call("list_notes", { folder: key, limit: PAGE })
        : { entries: partsOf(await this.#call("outline", { path: key })), next_offset: null };
      this.#put(row, key, page);
    } catch (error) {
      row.querySelector(".row-more")?.replaceChildren(reasonOf(error));
    } finally {
      row.removeAttribute("data-waiting");
    }
    this.#settle();
  }

  /** The next page of a list, in place of its button. @param {HTMLElement} button */
  async #more(button) {
    const item = /** @type {HTMLElement} */ (button.parentElement);
    const { folder = "", offset = "0" } = button.dataset;
    const params = { offset: Number(offset), limit: PAGE };
    const page = await this.#call("list_notes", this.#query && !folder ? { query: this.#query, ...params } : { folder, ...params });
    const rows = [...this.#list(folder, page, null).children];
    item.replaceWith(...rows);
    /** @type {HTMLElement | null | undefined} */ (rows[0]?.querySelector("input"))?.focus();
    this.#settle();
  }

  /**
   * Shows the rows of a folder; what has the focus keeps it, though rows are moved.
   * @param {HTMLElement} parent
   * @param {string} folder
   * @param {{ entries: Entry[], next_offset: number | null }} page
   */
  #put(parent, folder, page) {
    const focused = document.activeElement;
    const former = parent.querySelector(":scope > ul");
    const fresh = this.#list(folder, page, former);
    if (former) former.replaceWith(fresh);
    else parent.append(fresh);
    if (focused instanceof HTMLElement && fresh.contains(focused)) focused.focus({ preventScroll: true });
  }

  /**
   * Rows; existing ones are kept as they are.
   * @param {string} folder
   * @param {{ entries: Entry[], next_offset: number | null }} page
   * @param {Element | null} former
   */
  #list(folder, page, former) {
    const known = new Map([...(former?.children ?? [])].map((row) => [/** @type {HTMLElement} */ (row).dataset.key, row]));
    const list = document.createElement("ul");
    list.append(...page.entries.map((entry) => known.get(entry.path) ?? this.#row(entry)));
    if (page.next_offset !== null) list.append(nextButton(folder, page.next_offset));
    if (former?.hasAttribute("hidden")) list.hidden = true;
    return list;
  }

  /** @param {Entry} entry */
  #row(entry) {
    const row = makeRow(entry, this.#query !== "");
    this.#tickRow(row);
    return row;
  }

  /** @param {HTMLElement} row */
  #tickRow(row) {
    const box = /** @type {HTMLInputElement} */ (row.querySelector("input"));
    const tick = tickOf(this.#items, row.dataset.key ?? "");
    box.checked = tick === "chosen" || tick === "covered";
    box.indeterminate = tick === "partly";
    // Not `disabled`: it stays focusable and is announced.
    box.setAttribute("aria-disabled", String(tick === "covered"));
    row.dataset.tick = tick;
  }

  /** Makes exactly one row reachable with Tab. */
  #settle() {
    const boxes = this.#boxes();
    if (boxes.length && !boxes.some((box) => box.tabIndex === 0)) boxes[0].tabIndex = 0;
  }

  /** @param {HTMLElement} focused */
  #rove(focused) {
    if (!(focused instanceof HTMLInputElement)) return;
    for (const box of this.#root.querySelectorAll("input[tabindex='0']")) /** @type {HTMLElement} */ (box).tabIndex = -1;
    focused.tabIndex = 0;
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const box = event.target;
    if (!(box instanceof HTMLInputElement)) return;
    const row = rowOf(box);
    const isOpen = row.querySelector(":scope > .row-line > .row-open")?.getAttribute("aria-expanded") === "true";
    const canOpen = ["folder", "note"].includes(row.dataset.kind ?? "");
    const boxes = this.#boxes();
    const at = boxes.indexOf(box);
    const target = { ArrowDown: boxes[at + 1], ArrowUp: boxes[at - 1], Home: boxes[0], End: boxes.at(-1) }[event.key];
    if (target) target.focus();
    else if (event.key === "ArrowRight" && canOpen && !isOpen) this.#toggle(row);
    else if (event.key === "ArrowRight" && isOpen) boxes[at + 1]?.focus();
    else if (event.key === "ArrowLeft" && isOpen) this.#toggle(row);
    else if (event.key === "ArrowLeft") /** @type {HTMLElement | null | undefined} */ (row.parentElement?.closest("li.row")?.querySelector("input"))?.focus();
    else return;
    event.preventDefault();
  }

  #boxes() {
    return /** @type {HTMLInputElement[]} */ ([...this.#root.querySelectorAll("input")]).filter((box) => !box.closest("ul[hidden]"));
  }
}
