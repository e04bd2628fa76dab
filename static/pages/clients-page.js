// @ts-check
/** The page on which other programs get keys, and lose them. */

import { pageWire } from "../frame/connection.js";
import { startFrame } from "../frame/page-frame.js";
import { copied } from "../lib/copied.js";
import { fetchPage } from "../lib/fragments.js";
import { newest } from "../lib/newest.js";
import { reasonOf } from "../lib/text.js";

/** A request is told of several times. */
const SOON_MS = 100;

const wire = pageWire();
const form = /** @type {HTMLFormElement | null} */ (document.querySelector(".new-key"));
const made = /** @type {HTMLElement | null} */ (document.querySelector(".made-key"));
const problem = /** @type {HTMLElement | null} */ (document.querySelector(".problem"));
const keys = document.querySelector(".client-keys");
const noKeys = document.querySelector(".client-keys + .nothing");
let filled = "";
const row = /** @type {HTMLTemplateElement | null} */ (document.querySelector("#client-key-row"));

/** Does what was asked for, or says why it can't be done. @param {() => Promise<unknown>} work */
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

async function makeKey() {
  const name = String(new FormData(/** @type {HTMLFormElement} */ (form)).get("name") ?? "");
  const { key } = await wire.call("system.new_client_key", { client: name });
  const shown = made?.querySelector("code");
  if (made && shown) {
    shown.textContent = key;
    made.hidden = false;
  }
  fillIn(key);
  listKey(name);
  form?.reset();
}

/** Puts a fresh key into the settings that are shown. @param {string} key */
function fillIn(key) {
  for (const place of document.querySelectorAll("[data-with-key]")) {
    const text = place.textContent ?? "";
    place.textContent = text.replaceAll(filled || /\bKEY\b/g, key);
  }
  filled = key;
}

/** @param {string} name */
function listKey(name) {
  const fresh = /** @type {HTMLElement | null} */ (row?.content.firstElementChild?.cloneNode(true) ?? null);
  const label = fresh?.querySelector(".client-name");
  const button = fresh?.querySelector("[data-revoke]");
  if (!fresh || !label || !button) return;
  label.textContent = name;
  button.setAttribute("data-revoke", name);
  button.setAttribute("aria-label", `Revoke ${name}`);
  keys?.append(fresh);
  noKeys?.toggleAttribute("hidden", true);
}

/** @param {Element} button */
async function revoke(button) {
  await wire.call("system.revoke_client_key", { client: button.getAttribute("data-revoke") ?? "" });
  button.closest("li")?.remove();
  noKeys?.toggleAttribute("hidden", Boolean(keys?.childElementCount));
  /** @type {HTMLElement | null} */ (form?.querySelector("input") ?? null)?.focus();
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(makeKey);
});
keys?.addEventListener("click", (event) => {
  const button = /** @type {Element} */ (event.target).closest("[data-revoke]");
  if (button) attempt(() => revoke(button));
});
for (const button of document.querySelectorAll("[data-copy]")) {
  const text = () => button.parentElement?.querySelector("code")?.textContent ?? "";
  button.addEventListener("click", () => attempt(() => copied(/** @type {HTMLElement} */ (button), text())));
}

function showTimes() {
  for (const time of document.querySelectorAll("time")) {
    const when = new Date(time.dateTime);
    if (!Number.isNaN(when.valueOf())) time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
}

const requests = newest(SOON_MS, (/** @type {Document} */ fresh) => {
  const [before, now] = [document, fresh].map((page) => page.querySelector("[aria-labelledby=connected-title]")?.children ?? []);
  if (before.length !== now.length) return;
  before[0].toggleAttribute("data-reached", now[0].hasAttribute("data-reached"));
  // Words that stay are not read out again.
  if (before[1].textContent !== now[1].textContent) before[1].textContent = now[1].textContent;
  before[2].replaceChildren(...now[2].children);
  showTimes();
});
const lookAgain = () => requests.ask(() => fetchPage("/clients"));
for (const event of ["memory.chat_changed", "chat.started", "chat.finished", "chat.failed"]) wire.on(event, lookAgain);

showTimes();
startFrame();
wire.connect();
