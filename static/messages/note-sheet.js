// @ts-check
/** Opens linked notes in a read-only sheet at the side. */

import { fetchFragment } from "../lib/fragments.js";
import { reasonOf } from "../lib/text.js";

/** Opens the notes that links of the page name. */
export function startNoteSheet() {
  const sheet = /** @type {HTMLDialogElement | null} */ (document.getElementById("note-sheet"));
  const body = sheet?.querySelector(".note-sheet-body");
  if (!sheet || !body) return;
  const build = /** @type {HTMLAnchorElement | null} */ (sheet.querySelector(".note-build"));
  let wanted = "";
  const show = async (/** @type {string} */ name) => {
    wanted = name;
    body.setAttribute("aria-busy", "true");
    if (build) build.href = `/contexts?${new URLSearchParams({ chat: document.body.dataset.chatId ?? "", note: name })}`;
    if (!sheet.open) sheet.showModal();
    const shown = await fetchFragment(`/notes?note=${encodeURIComponent(name)}`).catch(problem);
    if (wanted !== name) return;
    body.replaceChildren(shown);
    body.removeAttribute("aria-busy");
    body.scrollTop = 0;
    makeLinks(body);
  };
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? linkAt(event.target) : null;
    if (link instanceof HTMLElement && link.dataset.note) {
      event.preventDefault();
      show(link.dataset.note);
    }
    if (event.target === sheet) sheet.close();
  });
  document.addEventListener("smart_context.open_note", (event) => {
    event.preventDefault();
    show(/** @type {CustomEvent} */ (event).detail.path);
  });
}

/** The link that was clicked, or that names the note of a quote. @param {Element} target */
function linkAt(target) {
  const quote = target.closest("[data-extracted] blockquote");
  return target.closest(".note-link") ?? (target.closest("a") ? null : quote?.previousElementSibling?.querySelector(".note-link"));
}

/** Makes the links to notes focusable. @param {ParentNode} parent */
export function makeLinks(parent) {
  for (const link of parent.querySelectorAll(".note-link:not([href])")) link.setAttribute("href", "#");
}

/** @param {unknown} error */
function problem(error) {
  const words = document.createElement("p");
  words.className = "nothing";
  words.textContent = reasonOf(error);
  return words;
}
