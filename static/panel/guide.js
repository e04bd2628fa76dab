// @ts-check
/** The guide of the demonstration: three steps, each done by the user. */

import { remember } from "../lib/memory.js";

const STEPS = /** @type {const} */ (["pick", "see", "ask"]);

/** @typedef {typeof STEPS[number]} Step */

/** @param {import("../wire.js").Wire} wire @param {string} chatId */
export function startGuide(wire, chatId) {
  const guide = /** @type {HTMLElement | null} */ (document.querySelector(".guide"));
  if (!guide || document.documentElement.dataset.guide === "done") return;
  const end = () => {
    remember("localStorage", "guide", "done");
    document.documentElement.dataset.guide = "done";
  };
  /** @param {Step} step  That was done, if it was due. */
  const done = (step) => {
    if (guide.dataset.step !== step) return;
    const next = STEPS[STEPS.indexOf(step) + 1];
    if (next) show(guide, next);
    else end();
  };
  document.addEventListener("panel-changed", (event) => {
    const { active } = /** @type {CustomEvent<import("../cloud/topic-state.js").PanelState>} */ (event).detail;
    if (active.length) done("pick");
  });
  document.querySelector(".sends-show")?.addEventListener("click", () => done("see"));
  wire.on("chat.finished", (news) => news.chat_id === chatId && done("ask"));
  guide.addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("[data-guide]") : null;
    if (!(pressed instanceof HTMLElement)) return;
    if (pressed.dataset.guide === "close") {
      end();
      document.getElementById("message-box")?.focus();
    } else /** @type {HTMLElement | null} */ (document.querySelector("[data-toggle=side]"))?.click();
  });
}

/** @param {HTMLElement} guide @param {Step} current */
function show(guide, current) {
  guide.dataset.step = current;
  document.documentElement.dataset.guide = current;
  for (const line of /** @type {NodeListOf<HTMLElement>} */ (guide.querySelectorAll("li"))) {
    const place = STEPS.indexOf(/** @type {Step} */ (line.dataset.step)) - STEPS.indexOf(current);
    line.toggleAttribute("data-passed", place < 0);
    if (place === 0) line.setAttribute("aria-current", "step");
    else line.removeAttribute("aria-current");
    if (place < 0) /** @type {HTMLElement} */ (line.querySelector(".guide-number")).textContent = "✓";
  }
}
