// @ts-check
/** Notes that are linked open in a sheet at the side, read-only. */

import { fetchFragment } from "../lib/fragments.js";
import { reasonOf } from "../lib/text.js";

/** Opens the notes that links of the page name. */
export function startNoteSheet() {
  const sheet = /** @type {HTMLDialogElement | null} */ (document.getElementById("note-sheet"));
  const body = sheet?.querySelector(".note-sheet-body");
  if (!sheet || !body) return;
  let wanted = "";
  const show = async (/** @type {string} */ name) => {
    wanted = name;
    body.setAttribute("aria-busy", "true");
    if (!sheet.open) sheet.showModal();
    const shown = await fetchFragment(`/notes?note=${encodeURIComponent(name)}`).catch(problem);
    if (wanted !== name) return;
    body.replaceChildren(shown);
    body.removeAttribute("aria-busy");
    body.scrollTop = 0;
    makeLinks(body);
  };
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest(".note-link") : null;
    if (link instanceof HTMLElement && link.dataset.note) {
      event.preventDefault();
      show(link.dataset.note);
    }
    if (event.target === sheet) sheet.close();
  });
}

/** Lets the links to notes be reached by keys. @param {ParentNode} parent */
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
