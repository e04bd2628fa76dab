// @ts-check
/** The keys of the whole page; each does one thing wherever the focus is. */

import { isComposing } from "../lib/composing.js";
import { toast } from "../lib/toasts.js";

const HOLD_MS = 350;
const WRITES = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=range], [type=button])";

/**
 * @typedef {object} Deeds
 * @property {() => void} [openPalette]
 * @property {() => void} [openKeys]
 * @property {Readonly<Record<string, () => void>>} [own]  Keys of this page, in lower case.
 * @property {() => boolean} [close]  Closes the topmost thing that is open; whether there was one.
 * @property {import("../panel/topics/topics-panel.js").TopicsPanel | null} panel
 */

/** @param {Deeds} deeds */
export function startKeys({ openPalette = () => {}, openKeys = () => {}, close = () => false, own = {}, panel }) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isComposing(event) || event.altKey) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const isDialogOpen = Boolean(document.querySelector("dialog[open]"));
    if (isCommand && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!isDialogOpen) openPalette();
    }
    // A dialog closes by itself, and its keys are its own.
    if (isCommand || isDialogOpen) return;
    if (event.key === "Escape") escape(event);
    else if (!isWriting(event.target)) press(event);
  });

  // Held a moment, these keys show the digits of the bubbles.
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  /** @param {boolean} isHeld */
  const hold = (isHeld) => {
    clearTimeout(waiting);
    if (isHeld) waiting = setTimeout(() => document.documentElement.toggleAttribute("data-digits", true), HOLD_MS);
    else document.documentElement.toggleAttribute("data-digits", false);
  };
  addEventListener("keydown", ({ key }) => hold(key === "Alt" || key === "Control"));
  addEventListener("keyup", () => hold(false));
  addEventListener("blur", () => hold(false));

  /** @param {KeyboardEvent} event */
  const escape = (event) => {
    if (close()) return;
    const { target } = event;
    if (target instanceof HTMLInputElement && isWriting(target) && target.value) return;
    const isTyped = target instanceof HTMLTextAreaElement && target.value !== "";
    if (panel?.state.active.length && !isTyped) clear(panel);
    else if (target instanceof HTMLElement && isWriting(target)) target.blur();
  };

  /** @param {KeyboardEvent} event */
  const press = (event) => {
    if (event.key === "?") {
      event.preventDefault();
      openKeys();
    }
    const deed = event.repeat || event.shiftKey ? undefined : own[event.key.toLowerCase()];
    if (deed) {
      event.preventDefault();
      deed();
    }
    if (!/^[1-9]$/.test(event.key) || event.shiftKey) return;
    const bubble = document.querySelectorAll(".bubble:not([data-leaving])")[Number(event.key) - 1];
    const input = bubble?.querySelector("input");
    if (!input || input.matches(":disabled")) return;
    event.preventDefault();
    input.click();
  };
}

/** Releases what is picked, and offers it again, since the next message sends more now. @param {import("../panel/topics/topics-panel.js").TopicsPanel} panel */
function clear(panel) {
  const before = panel.state.active;
  panel.pick([]);
  const close = toast("No topic is picked now.", { label: "Undo", act: () => panel.pick([...before]) });
  const look = () => {
    if (!panel.state.active.length) return;
    document.removeEventListener("panel-changed", look);
    close();
  };
  document.addEventListener("panel-changed", look);
}

/** @param {EventTarget | null} target */
function isWriting(target) {
  return target instanceof Element && target.closest(WRITES) !== null;
}
