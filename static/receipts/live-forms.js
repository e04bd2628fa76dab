// @ts-check
/** Replays and compares a turn as soon as an option changes; the forms keep their state. */

import { fetchText } from "../lib/fragments.js";
import { newest } from "../lib/newest.js";
import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

const SETTLE_MS = 120;

/** @param {(shown: Element) => void} showTimes */
export function startLiveForms(showTimes) {
  const shown = document.querySelector(".turn-read");
  const forms = /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form[data-live]"));
  if (!shown) return;
  document.documentElement.toggleAttribute("data-live-forms", true);
  /** @param {{ address: string, page: string, line: HTMLElement }} answer */
  const show = ({ address, page, line }) => {
    const fresh = new DOMParser().parseFromString(page, "text/html").querySelector(".turn-read");
    if (!fresh) return;
    const open = openIn(shown);
    shown.replaceChildren(...document.adoptNode(fresh).childNodes);
    for (const details of shown.querySelectorAll("details")) details.open = open.has(titleOf(details));
    showTimes(shown);
    history.replaceState(null, "", address);
    line.textContent = shown.querySelector("#in-title")?.textContent ?? "";
  };
  const wish = newest(SETTLE_MS, show, (error) => toast(`Not replayed: ${reasonOf(error)}`));
  for (const form of forms) {
    const line = /** @type {HTMLElement} */ (form.querySelector(".turn-state"));
    const ask = () => {
      if (!form.reportValidity()) return;
      const fields = new URLSearchParams(/** @type {any} */ (new FormData(form)));
      const address = `${new URL(form.action).pathname}?${fields}`;
      wish.ask(async () => ({ address, page: await fetchText(address), line }));
    };
    form.addEventListener("change", ask);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      ask();
    });
  }
}

/** The titles of the open details. @param {ParentNode} parent */
function openIn(parent) {
  return new Set([...parent.querySelectorAll("details[open]")].map(titleOf));
}

/** The first word of its summary: the counts after it change. @param {Element} details */
function titleOf(details) {
  return details.querySelector("summary")?.textContent?.trim().split(/[:\d]/)[0];
}
