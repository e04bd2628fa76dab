// @ts-check
/** The bar that says what is off in a vault that is not trusted, and the review of what it wants. */

import { find } from "../lib/find.js";
import { counted, reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";


const STATES = {
  trusted: "Trusted",
  off: "",
  changed: "Changed since you trusted it",
  partly: "Asked for more than you trusted",
  refused: "Can’t be trusted",
};

/** True if the page says that something is off. */
export function isRestricted() {
  return Boolean(document.querySelector(".trust-bar:not([hidden])"));
}

/** @param {import("../wire.js").Wire} wire */
export function startTrust(wire) {
  const bar = /** @type {HTMLElement | null} */ (document.querySelector(".trust-bar"));
  if (bar) new Review(bar, wire).start();
}

class Review {
  #bar;
  #wire;
  #dialog = /** @type {HTMLDialogElement} */ (document.getElementById("trust-dialog"));
  #digest = "";

  /** @param {HTMLElement} bar @param {import("../wire.js").Wire} wire */
  constructor(bar, wire) {
    this.#bar = bar;
    this.#wire = wire;
  }

  start() {
    this.#bar.querySelector("button")?.addEventListener("click", () => this.#open());
    find("[data-cancel]", this.#dialog).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#settle());
    find("form", this.#dialog).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#grant();
    });
    this.#wire.on("system.trust_changed", (wanted) => this.#hear(wanted));
    let isFirst = true;
    this.#wire.onStatus(async (status) => {
      // Catches up with what was granted while the connection was lost.
      if (status === "open" && !isFirst) this.#hear(await this.#wire.call("system.trust"));
      if (status === "open") isFirst = false;
    });
  }

  async #open() {
    this.#say("");
    try {
      this.#show(await this.#wire.call("system.trust"));
    } catch (error) {
      this.#show({ vault: "", digest: "", summary: "", parts: [] });
      this.#say(reasonOf(error));
    }
    this.#dialog.showModal();
    // Nothing is granted by a key that was meant for something else.
    find("[data-cancel]", this.#dialog).focus();
  }

  async #grant() {
    const ticked = /** @type {NodeListOf<HTMLInputElement>} */ (this.#dialog.querySelectorAll("input:checked:enabled"));
    const parts = [...ticked].map(({ value }) => value);
    this.#button.disabled = true;
    try {
      this.#hear(await this.#wire.call("system.grant_trust", { digest: this.#digest, parts }));
      this.#dialog.close();
      const titles = [...ticked].map((box) => box.closest("li")?.querySelector(".trust-title")?.textContent ?? "");
      toast(`On now: ${titles.filter(Boolean).join(", ")}.`, { label: "Dismiss", act: () => {} });
    } catch (error) {
      // The files may have changed since the review: show them again before granting anything.
      const wanted = await this.#wire.call("system.trust").catch(() => null);
      if (wanted) this.#show(wanted);
      this.#say(reasonOf(error));
    }
    this.#enable();
  }

  /** @param {TrustResult} wanted */
  #hear(wanted) {
    /** @type {HTMLElement} */ (this.#bar.querySelector("p")).textContent = visible(wanted.summary);
    this.#bar.hidden = !wanted.summary;
    if (!this.#dialog.open || wanted.digest === this.#digest) return;
    this.#show(wanted);
    this.#say("What this vault wants has changed. Review it again.");
  }

  /** Returns the focus; the button that opened the dialog may be gone with the bar. */
  #settle() {
    if (!this.#bar.hidden) return;
    const next = document.querySelector("#message-box, #note-search") ?? document.querySelector("main a, main button");
    if (next instanceof HTMLElement) next.focus();
  }

  /** @param {TrustResult} wanted */
  #show(wanted) {
    this.#digest = wanted.digest;
    find(".trust-vault", this.#dialog).textContent = visible(wanted.vault);
    find(".trust-parts", this.#dialog).replaceChildren(...wanted.parts.map((part) => this.#part(part)));
    for (const box of this.#dialog.querySelectorAll("input")) box.addEventListener("change", () => this.#enable());
    this.#enable();
  }

  #enable() {
    this.#button.disabled = !this.#dialog.querySelector("input:checked:enabled");
  }

  /** @param {TrustPartResult} part */
  #part(part) {
    const template = /** @type {HTMLTemplateElement} */ (this.#dialog.querySelector("template"));
    const entry = /** @type {HTMLElement} */ (document.importNode(/** @type {Element} */ (template.content.firstElementChild), true));
    const box = /** @type {HTMLInputElement} */ (entry.querySelector("input"));
    const put = (/** @type {string} */ selector, /** @type {string} */ words) =>
      (/** @type {HTMLElement} */ (entry.querySelector(selector)).textContent = visible(words));
    entry.dataset.state = part.state;
    box.value = part.id;
    // Consent is given by ticking, never by leaving a box as it was.
    box.checked = part.state === "trusted";
    box.disabled = part.state === "trusted" || part.state === "refused";
    put(".trust-title", part.title);
    put(".trust-state", STATES[part.state]);
    put(".trust-does", part.does);
    entry.querySelector(".trust-does")?.before(...part.warnings.map(warned));
    const files = [...part.refused.map((name) => line(`${name} (a link, not a plain file, or unreadable)`)), ...part.groups.flatMap(grouped)];
    const count = part.refused.length + part.groups.reduce((sum, { files }) => sum + files.length, 0);
    const named = part.groups.map(({ name }) => name).filter(Boolean);
    put("summary", [named.join(", "), counted(count, "file")].filter(Boolean).join(": "));
    const details = /** @type {HTMLDetailsElement} */ (entry.querySelector("details"));
    details.hidden = !count;
    details.open = part.refused.length > 0;
    /** @type {HTMLElement} */ (details.querySelector("ul")).append(...files);
    return entry;
  }

  /** @param {string} words */
  #say(words) {
    find(".trust-problem", this.#dialog).textContent = visible(words);
  }

  get #button() {
    return /** @type {HTMLButtonElement} */ (find("[type=submit]", this.#dialog));
  }
}

/** @param {string} words */
function warned(words) {
  const entry = document.createElement("p");
  entry.className = "trust-warning";
  entry.textContent = visible(words);
  return entry;
}

/** @param {TrustFilesResult} group */
function grouped({ name, is_on: isOn, files }) {
  const head = name ? [line(isOn ? name : `${name} (turned off)`, "trust-group")] : [];
  return [...head, ...files.map((file) => line(file))];
}

/** @param {string} words @param {string} [className] */
function line(words, className = "") {
  const entry = document.createElement("li");
  entry.textContent = visible(words);
  entry.className = className;
  return entry;
}
