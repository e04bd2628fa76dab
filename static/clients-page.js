// @ts-check
/** The page on which other programs get keys, and lose them. */

import { pageWire } from "./frame/connection.js";
import { reasonOf } from "./lib/text.js";

const wire = pageWire();
const form = /** @type {HTMLFormElement | null} */ (document.querySelector(".new-key"));
const made = /** @type {HTMLElement | null} */ (document.querySelector(".made-key"));
const problem = /** @type {HTMLElement | null} */ (document.querySelector(".problem"));

/** @param {() => Promise<void>} work */
async function attempt(work) {
  if (problem) problem.hidden = true;
  try {
    await work();
  } catch (error) {
    if (!problem) return;
    problem.textContent = reasonOf(error);
    problem.hidden = false;
  }
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const name = String(new FormData(form).get("name") ?? "");
    const { key } = await wire.call("system.new_client_key", { client: name });
    const shown = made?.querySelector("code");
    if (made && shown) {
      shown.textContent = key;
      made.hidden = false;
    }
    form.reset();
  });
});

for (const button of document.querySelectorAll("[data-revoke]")) {
  button.addEventListener("click", () => attempt(async () => {
    const name = button.getAttribute("data-revoke") ?? "";
    await wire.call("system.revoke_client_key", { client: name });
    button.closest("li")?.remove();
  }));
}

wire.connect();
