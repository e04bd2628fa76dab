// @ts-check
/** The palette: chats, topics, contexts, notes and commands by name. */

import { isComposing } from "../lib/composing.js";
import { newest } from "../lib/newest.js";
import { visible } from "../lib/text.js";

/**
 * @typedef {object} Entry
 * @property {string} group
 * @property {string} name
 * @property {string} [hint]
 * @property {string} [also]  Words that find it, too.
 * @property {string} [hue]
 * @property {boolean} [isOn]
 * @property {boolean} [isSought]  Shown only once something is typed.
 * @property {boolean} [isStarred]
 * @property {() => void} [star]  Makes it a favourite, or no longer.
 * @property {() => void} run
 */
/** @typedef {() => readonly Entry[]} Entries */
/** @typedef {(query: string) => Promise<readonly Entry[]>} Find  What only the server knows. */

const LOOK_MS = 120;
/** Of each group, before anything is typed and after. */
const FEW = 5;
const MANY = 12;

export class Palette {
  #dialog;
  #box;
  #list;
  #entries;
  #wish;
  #find;
  /** @type {readonly Entry[]} */
  #found = [];
  /** @type {readonly Entry[]} */
  #shown = [];
  #chosen = 0;
  #most;

  /** @param {HTMLDialogElement} dialog @param {Entries} entries @param {Find} find @param {number} [most]  Of each group; by default a few. */
  constructor(dialog, entries, find, most) {
    this.#dialog = dialog;
    this.#box = /** @type {HTMLInputElement} */ (dialog.querySelector("input"));
    this.#list = /** @type {HTMLElement} */ (dialog.querySelector("[role=listbox]"));
    this.#entries = entries;
    this.#find = find;
    this.#most = most;
    this.#wish = newest(LOOK_MS, (/** @type {readonly Entry[]} */ found) => {
      this.#found = found;
      this.#show(this.#chosen);
    });
  }

  start() {
    this.#box.addEventListener("input", () => {
      // Until the server answers: Enter must not open what no longer matches.
      this.#found = matching(this.#found, this.#box.value, this.#most);
      this.#show(0);
      this.#look();
    });
    this.#box.addEventListener("keydown", (event) => this.#press(event));
    this.#list.addEventListener("click", (event) => {
      const target = event.target instanceof Element ? event.target : null;
      const option = target?.closest("[role=option]");
      const place = option ? this.#options().indexOf(option) : -1;
      if (target?.closest(".palette-star")) this.#star(place);
      else if (option) this.#run(place);
    });
    // The keyboard skips the star of a row: rows are options of a list.
    this.#dialog.querySelector("[data-star]")?.addEventListener("click", () => this.#star(this.#chosen));
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#wish.forget());
  }

  open() {
    this.#box.value = "";
    this.#found = [];
    this.#show(0);
    this.#dialog.showModal();
    this.#box.focus();
    this.#look();
  }

  /** Shows the entries as they are now. @param {number} chosen  The place of the one that Enter takes. */
  refresh(chosen) {
    this.#show(chosen);
  }

  #look() {
    const query = this.#box.value.trim();
    this.#wish.ask(() => this.#find(query));
  }

  /** @param {number} chosen */
  #show(chosen) {
    const query = this.#box.value.trim();
    this.#shown = [...matching(this.#entries(), query, this.#most), ...this.#found];
    /** @type {HTMLElement[]} */
    const rows = [];
    for (const [i, entry] of this.#shown.entries()) {
      if (entry.group && entry.group !== this.#shown[i - 1]?.group) rows.push(heading(entry.group));
      rows.push(option(entry, `${this.#list.id}-${i}`));
    }
    this.#list.replaceChildren(...rows);
    this.#dialog.querySelector(".palette-none")?.toggleAttribute("hidden", rows.length > 0);
    this.#choose(Math.min(chosen, this.#shown.length - 1));
  }

  /** @param {number} place */
  #choose(place) {
    this.#chosen = Math.max(0, place);
    for (const [i, one] of this.#options().entries()) {
      one.setAttribute("aria-selected", String(i === this.#chosen));
      if (i !== this.#chosen) continue;
      one.scrollIntoView({ block: "nearest" });
    }
    this.#box.setAttribute("aria-activedescendant", this.#shown.length ? `${this.#list.id}-${this.#chosen}` : "");
    const chosenOne = this.#shown[this.#chosen];
    const button = this.#dialog.querySelector("[data-star]");
    button?.toggleAttribute("hidden", !chosenOne?.star);
    if (button) button.textContent = chosenOne?.isStarred ? "No favourite" : "Make it a favourite";
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const count = this.#shown.length;
    if (isComposing(event) || !count || (!step && event.key !== "Enter")) return;
    event.preventDefault();
    if (step) this.#choose((this.#chosen + step + count) % count);
    else this.#run(this.#chosen);
  }

  /** @param {number} place */
  #run(place) {
    const entry = this.#shown[place];
    if (!entry) return;
    this.#dialog.close();
    entry.run();
  }

  /** @param {number} place */
  #star(place) {
    this.#shown[place]?.star?.();
    this.#box.focus();
  }

  #options() {
    return [...this.#list.querySelectorAll("[role=option]")];
  }
}

/** The entries that contain every word of the query, a few of each group. @param {readonly Entry[]} entries @param {string} query @param {number} [most]  Of each group. */
export function matching(entries, query, most) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  /** @type {Map<string, number>} */
  const counts = new Map();
  return entries.filter(({ group, name, also = "", isSought }) => {
    const text = `${name} ${also}`.toLowerCase();
    if (!words.every((word) => text.includes(word)) || (isSought && !words.length)) return false;
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    return count <= (most ?? (words.length || group === "Topics" || group === "Commands" ? MANY : FEW));
  });
}

/** @param {string} words */
function heading(words) {
  const line = document.createElement("li");
  line.className = "palette-group";
  line.role = "presentation";
  line.textContent = words;
  return line;
}

/** @param {Entry} entry @param {string} id */
function option({ name, hint, hue, isOn, isStarred, star }, id) {
  const line = document.createElement("li");
  Object.assign(line, { id, className: "palette-entry", role: "option" });
  if (hue !== undefined) line.dataset.hue = hue;
  const words = document.createElement("span");
  words.className = "palette-name";
  words.dir = "auto";
  words.textContent = visible(name);
  const more = document.createElement("span");
  more.className = "palette-hint";
  more.textContent = hintOf(isOn ?? false, visible(hint ?? ""));
  line.append(words, more);
  if (star) line.append(starOf(isStarred ?? false));
  return line;
}

/** What stands beside a name: that it is picked, and how large it is. @param {boolean} isOn @param {string} hint */
export function hintOf(isOn, hint) {
  return [isOn ? "Picked" : "", hint].filter(Boolean).join(" · ");
}

/** @param {boolean} isStarred */
function starOf(isStarred) {
  const mark = document.createElement("span");
  mark.className = "palette-star";
  mark.title = isStarred ? "No favourite any more" : "Favourite";
  mark.ariaHidden = "true";
  mark.toggleAttribute("data-on", isStarred);
  return mark;
}
