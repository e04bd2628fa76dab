// @ts-check
/** An attachment as a chip: its name, size and state. */

import { cutInWords, isPicture, sizeInWords, UNSEEN } from "./attached.js";
import { clone } from "../lib/from-template.js";
import { numbered, visible } from "../lib/text.js";

/** @typedef {import("./attached.js").Attached} Attached */

/** @param {Attached} attached */
export function makeChip(attached) {
  const chip = clone("attaching-template");
  chip.dataset.id = String(attached.id);
  return chip;
}

/** Shows the state of the upload. @param {HTMLElement} chip @param {Attached} attached */
export function showChip(chip, attached) {
  const { kind, state, stored, size } = attached;
  const name = visible(attached.name);
  if (chip.dataset.shown === JSON.stringify(attached)) return;
  chip.dataset.shown = JSON.stringify(attached);
  chip.dataset.state = state;
  const isAmiss = state === "failed" || state === "refused";
  chip.toggleAttribute("data-warns", isAmiss);
  text(chip, ".chip-name", name);
  text(chip, ".chip-size", kind === "link" || isAmiss ? "" : sizeInWords(size));
  text(chip, ".attaching-told", visible(attached.told));
  text(chip, ".chip-remove span", `Remove ${name}`);
  text(chip, ".attaching-again span", `Try ${name} again`);
  chip.title = [visible(stored?.url ?? name), attached.told].filter(Boolean).join("\n");
  picture(chip, kind === "link" ? "link" : isPicture(stored) ? "" : "file", stored?.storage_key ?? "");
  const bar = /** @type {HTMLProgressElement} */ (chip.querySelector("progress"));
  bar.hidden = state !== "sending";
  if (bar.hidden) bar.value = 0;
  bar.setAttribute("aria-label", `Attaching ${name}`);
  chip.querySelector(".attaching-see")?.toggleAttribute("hidden", attached.told !== UNSEEN);
  chip.querySelector(".attaching-again")?.toggleAttribute("hidden", state !== "failed");
}

/**
 * Says how much of a long text goes.
 * @param {HTMLElement} chip
 * @param {Attached} attached
 * @param {import("./attached.js").Cut | undefined} cut
 * @param {boolean} canAsk
 */
export function showCut(chip, { name, told, stored }, cut, canAsk) {
  text(chip, ".attaching-told", cut ? cutInWords(cut, canAsk) : visible(told));
  const all = /** @type {HTMLElement} */ (chip.querySelector(".attaching-whole"));
  all.hidden = cut?.unit !== "lines" || Boolean(stored?.whole);
  all.textContent = cut ? `Send all (≈ ${numbered(cut.tokens)} tokens)` : "";
  all.title = `Send all of ${visible(name)}`;
}

/** Shows the progress of the upload. @param {HTMLElement | undefined} chip @param {number} share */
export function showShare(chip, share) {
  const bar = chip?.querySelector("progress");
  if (bar) bar.value = share;
}

/** @param {HTMLElement} chip @param {string} icon  Empty: the picture itself. @param {string} key */
function picture(chip, icon, key) {
  const box = /** @type {HTMLElement} */ (chip.querySelector(".attaching-picture"));
  const wanted = icon || key;
  if (box.dataset.shown === wanted) return;
  box.dataset.shown = wanted;
  if (!icon) {
    const image = new Image();
    const pass = document.documentElement.dataset.filePass;
    Object.assign(image, { src: `/api/files/${key}${pass ? `?pass=${pass}` : ""}`, alt: "", decoding: "async" });
    box.replaceChildren(image);
    return;
  }
  const source = /** @type {Element} */ (document.querySelector("#attach-menu .icon")).cloneNode(true);
  /** @type {Element} */ (source).querySelector("use")?.setAttribute("href", `#icon-${icon}`);
  box.replaceChildren(source);
}

/** @param {HTMLElement} chip @param {string} selector @param {string} words */
function text(chip, selector, words) {
  const place = /** @type {HTMLElement} */ (chip.querySelector(selector));
  if (place.textContent !== words) place.textContent = words;
}
