// @ts-check
/** The trash: deleted chats, to be restored or deleted for ever, live in every tab. */

import { find } from "../lib/find.js";
import { fetchFragment } from "../lib/fragments.js";
import { counted, reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

const QUIET_MS = 150;
const NEXT = "[data-trash]:not([hidden], [hidden] *)";

export class Trash {
  #dialog;
  #wire;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {HTMLDialogElement} dialog @param {import("../wire.js").Wire} wire */
  constructor(dialog, wire) {
    this.#dialog = dialog;
    this.#wire = wire;
  }

  start() {
    for (const button of document.querySelectorAll("[data-open-trash]")) button.addEventListener("click", () => this.open());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
      const pressed = event.target instanceof Element ? event.target.closest("[data-trash]") : null;
      if (pressed instanceof HTMLElement) this.#press(pressed).catch((error) => toast(reasonOf(error)));
    });
    // Escape takes a question back before it closes the dialog.
    this.#dialog.addEventListener("cancel", (event) => {
      const asked = this.#dialog.querySelector(".trash-sure:not([hidden])");
      if (!asked) return;
      event.preventDefault();
      sure(asked, false);
    });
    for (const event of ["memory.chat_changed", "memory.trash_changed"]) this.#wire.on(event, () => this.#soon());
    if (new URLSearchParams(location.search).get("show") === "trash") {
      history.replaceState(history.state, "", location.pathname);
      this.open();
    }
  }

  async open() {
    if (!this.#dialog.open) this.#dialog.showModal();
    find("h2", this.#dialog).focus();
    await this.#refresh().catch((error) => toast(reasonOf(error)));
  }

  #soon() {
    if (!this.#dialog.open) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh().catch((error) => toast(reasonOf(error))), QUIET_MS);
  }

  /** Fetches the list again; focus and an open question stay with their chat. */
  async #refresh() {
    const fresh = await fetchFragment("/trash/list");
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const asked = this.#dialog.querySelector("li .trash-sure:not([hidden])")?.closest("li")?.dataset.deletion;
    const at = focused?.closest("li")?.dataset.deletion;
    const deed = focused?.dataset.trash;
    for (const time of fresh.querySelectorAll("time")) showTime(time);
    find(".trash-list", this.#dialog).replaceWith(fresh);
    const total = Number(fresh.dataset.total);
    const footer = find("footer", this.#dialog);
    footer.hidden = !total;
    find(".trash-question", this.#dialog).textContent = `Delete ${counted(total, "chat")} for ever?`;
    const again = asked && fresh.querySelector(`[data-deletion="${CSS.escape(asked)}"] .trash-sure`);
    if (again) sure(again, true);
    if (at) {
      const same = fresh.querySelector(`[data-deletion="${CSS.escape(at)}"]`)?.querySelector(`[data-trash=${deed}]`);
      /** @type {HTMLElement} */ (same ?? fresh.querySelector(NEXT) ?? find("h2", this.#dialog)).focus();
    } else if (!this.#dialog.contains(document.activeElement) || (!total && footer.contains(focused))) {
      find("h2", this.#dialog).focus();
    }
  }

  /** @param {HTMLElement} pressed */
  async #press(pressed) {
    const deed = pressed.dataset.trash;
    const entry = pressed.closest("li");
    const question = /** @type {Element} */ ((entry ?? find("footer", this.#dialog)).querySelector(".trash-sure"));
    if (deed === "ask" || deed === "keep") return sure(question, deed === "ask");
    const named = { chat_id: entry?.dataset.chatId, deletion: entry?.dataset.deletion };
    const title = entry?.querySelector(".trash-title")?.textContent ?? "";
    if (deed === "restore") {
      await this.#wire.call("memory.restore_chat", named);
      this.#say(`“${title}” is restored.`);
    } else if (deed === "purge") {
      await this.#wire.call("memory.purge_chat", named);
      this.#say(`“${title}” is deleted for ever.`);
    } else {
      // Only what the user has seen; what is deleted meanwhile stays.
      const newest = /** @type {HTMLElement | null} */ (this.#dialog.querySelector("li"))?.dataset.deletedAt ?? "";
      await this.#wire.call("memory.empty_trash", { until: newest });
      this.#say("The trash is empty.");
    }
    sure(question, false, { focus: false });
    await this.#refresh();
  }

  /** @param {string} words */
  #say(words) {
    find("[role=status]", this.#dialog).textContent = words;
  }
}

/** Asks whether to delete for ever, or takes the question back. @param {Element} question @param {boolean} asks */
function sure(question, asks, { focus = true } = {}) {
  const actions = question.parentElement?.querySelector(".trash-actions");
  question.toggleAttribute("hidden", !asks);
  actions?.toggleAttribute("hidden", asks);
  const next = asks ? question.querySelector("[data-trash=keep]") : actions?.querySelector("[data-trash=ask]");
  if (focus) /** @type {HTMLElement | null | undefined} */ (next)?.focus();
}

/** @param {HTMLTimeElement} time */
function showTime(time) {
  const when = new Date(time.dateTime);
  if (!Number.isNaN(when.valueOf())) time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
