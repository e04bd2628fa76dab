// @ts-check
/** The guide of the demonstration: three steps, each done by the user. */

import { recall, remember } from "../lib/memory.js";

const STEPS = /** @type {const} */ (["pick", "see", "ask"]);

const PASSED = "guide-passed";

/** @typedef {typeof STEPS[number]} Step */

/** @param {import("../wire.js").Wire} wire @param {string} chatId */
export function startGuide(wire, chatId) {
  const guide = /** @type {HTMLElement | null} */ (document.querySelector(".guide"));
  if (!guide || document.documentElement.dataset.guide === "done") return;
  const end = () => {
    remember("localStorage", "guide", "done");
    document.documentElement.dataset.guide = "done";
  };
  /** What was done, in any order, before a reload, too. @type {Set<string>} */
  const passed = new Set(recall("localStorage", PASSED).split(" "));
  /** @param {Step} [step]  That was done. */
  const done = (step) => {
    if (document.documentElement.dataset.guide === "done") return;
    if (step) passed.add(step);
    remember("localStorage", PASSED, [...passed].join(" "));
    const next = STEPS.find((one) => !passed.has(one));
    if (next) show(guide, next, passed);
    else end();
  };
  done();
  document.addEventListener("panel-changed", (event) => {
    const { active } = /** @type {CustomEvent<import("../cloud/topic-state.js").PanelState>} */ (event).detail;
    if (active.length) done("pick");
  });
  document.querySelector(".sends-show")?.addEventListener("click", () => done("see"));
  wire.on("chat.started", (news) => news.chat_id === chatId && done("ask"));
  guide.addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest(".guide [data-guide]") : null;
    if (!(pressed instanceof HTMLElement)) return;
    if (pressed.dataset.guide === "ask") fillIn(pressed.textContent ?? "");
    else if (pressed.dataset.guide === "close") {
      end();
      document.getElementById("message-box")?.focus();
    } else /** @type {HTMLElement | null} */ (document.querySelector("[data-toggle=side]"))?.click();
  });
}

/** Puts a question into the message box, to be sent from there. @param {string} question */
function fillIn(question) {
  const box = /** @type {HTMLTextAreaElement} */ (document.getElementById("message-box"));
  box.value = question;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  box.focus();
}

/** @param {HTMLElement} guide @param {Step} current @param {ReadonlySet<string>} passed */
function show(guide, current, passed) {
  guide.dataset.step = current;
  document.documentElement.dataset.guide = current;
  for (const line of /** @type {NodeListOf<HTMLElement>} */ (guide.querySelectorAll("li"))) {
    const isPassed = passed.has(line.dataset.step ?? "");
    line.toggleAttribute("data-passed", isPassed);
    if (line.dataset.step === current) line.setAttribute("aria-current", "step");
    else line.removeAttribute("aria-current");
    if (isPassed) /** @type {HTMLElement} */ (line.querySelector(".guide-number")).textContent = "✓";
  }
}
