// @ts-check
/** The rows of the vault's tree: folders, notes, and the headings and blocks of notes. */

import { clone } from "../lib/from-template.js";
import { numbered, visible } from "../lib/text.js";

/** @typedef {{ path: string, name: string, kind: string, files?: number, level?: number }} Entry */

/** @param {Entry} entry @param {boolean} isFound  By a search: then it says where it lies. */
export function makeRow(entry, isFound) {
  const row = clone("row-template");
  row.dataset.key = entry.path;
  row.dataset.kind = entry.kind;
  if (entry.level) row.style.setProperty("--level", String(entry.level - 1));
  const name = visible(entry.name);
  /** @type {HTMLElement} */ (row.querySelector(".row-name")).textContent = name;
  row.querySelector(".row-icon")?.append(...iconOf(entry.kind));
  const more = /** @type {HTMLElement} */ (row.querySelector(".row-more"));
  if (entry.kind === "folder") more.textContent = numbered(entry.files ?? 0);
  else if (isFound && entry.path.includes("/") && !entry.path.includes("#")) {
    more.textContent = visible(entry.path.slice(0, entry.path.lastIndexOf("/")));
  }
  const button = /** @type {HTMLElement} */ (row.querySelector(".row-open"));
  /** @type {HTMLElement} */ (button.querySelector(".visually-hidden")).textContent = `What is in ${name}`;
  button.hidden = !["folder", "note"].includes(entry.kind);
  return row;
}

/** The parts of a note as rows. @param {any} outline @returns {Entry[]} */
export function partsOf({ headings, blocks }) {
  return [
    ...headings.map((/** @type {any} */ h) => ({ path: h.key, name: h.text || "(no words)", kind: "heading", level: h.level })),
    ...blocks.map((/** @type {any} */ b) => ({ path: b.key, name: b.name, kind: "block" })),
  ];
}

/** @param {Element} element */
export function rowOf(element) {
  return /** @type {HTMLElement} */ (element.closest("li.row"));
}

/** @param {string} folder @param {number} offset */
export function nextButton(folder, offset) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "row-next quiet", textContent: "Show more" });
  Object.assign(button.dataset, { folder, offset: String(offset) });
  item.append(button);
  return item;
}

/** @param {string} kind */
function iconOf(kind) {
  const icons = /** @type {HTMLTemplateElement} */ (document.getElementById("kind-icons")).content;
  return /** @type {Element} */ (document.importNode(icons, true).querySelector(`[data-kind=${kind}]`)).children;
}
