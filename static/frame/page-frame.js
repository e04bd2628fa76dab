// @ts-check
/** The frame around the chat: what is folded away, and light or dark. */

import { remember } from "../lib/memory.js";

/** @typedef {"chats" | "side"} Area */

const NARROW = { chats: matchMedia("(max-width: 900px)"), side: matchMedia("(max-width: 1100px)") };
const AREAS = /** @type {const} */ (["chats", "side"]);
const root = document.documentElement;

/** Listens to the buttons that fold the list of chats and the panel. */
export function startFrame() {
  for (const area of AREAS) {
    button("toggle", area)?.addEventListener("click", () => (NARROW[area].matches ? openDrawer(area) : fold(area)));
    button("close", area)?.addEventListener("click", closeDrawer);
    NARROW[area].addEventListener("change", () => {
      delete root.dataset.drawersMove; // what becomes a drawer now is out of sight at once
      closeDrawer();
    });
  }
  document.querySelector(".backdrop")?.addEventListener("click", closeDrawer);
  // Not a submit button: a form's first one is what Enter presses.
  for (const cancel of document.querySelectorAll("[data-close-dialog]")) {
    cancel.addEventListener("click", () => /** @type {HTMLDialogElement} */ (cancel.closest("dialog")).close(""));
  }
  document.querySelector("[data-theme-toggle]")?.addEventListener("click", switchTheme);
  showExpanded();
}

/** On a wide page: hides an area, or shows it again. @param {Area} area */
function fold(area) {
  root.dataset[area] = root.dataset[area] === "closed" ? "open" : "closed";
  remember("localStorage", area, root.dataset[area] ?? "");
  showExpanded();
}

/** On a narrow page: over the chat, which can't be reached until it is closed. @param {Area} area */
function openDrawer(area) {
  root.dataset.drawersMove = "";
  root.dataset.drawer = area;
  cover(true);
  button("close", area)?.focus();
}

/** Closes the drawer; true if one was open. */
export function closeDrawer() {
  const area = root.dataset.drawer;
  if (area !== "chats" && area !== "side") {
    showExpanded();
    return false;
  }
  delete root.dataset.drawer;
  cover(false);
  button("toggle", area)?.focus();
  return true;
}

/** @param {boolean} isCovered */
function cover(isCovered) {
  document.querySelector(".backdrop")?.toggleAttribute("hidden", !isCovered);
  document.querySelector("main")?.toggleAttribute("inert", isCovered);
  showExpanded();
}

function showExpanded() {
  for (const area of AREAS) {
    const isOpen = NARROW[area].matches ? root.dataset.drawer === area : root.dataset[area] !== "closed";
    button("toggle", area)?.setAttribute("aria-expanded", String(isOpen));
  }
}

/** Switches between light and dark. */
export function switchTheme() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  remember("localStorage", "theme", root.dataset.theme);
}

/** @param {"toggle" | "close"} deed @param {Area} area @returns {HTMLElement | null} */
function button(deed, area) {
  return document.querySelector(`[data-${deed}=${area}]`);
}
