// @ts-check
/** The ways to attach something: pick it, drop it, paste it, or give a link. */

import { addressIn } from "./attached.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("./attachments.js").Attachments} Attachments */

/**
 * @param {HTMLElement} main  The chat, onto which files can be dropped.
 * @param {Attachments} attachments
 */
export function startWays(main, attachments) {
  startPicking(main, attachments);
  startDropping(main, attachments);
  startPasting(main, attachments);
  startLinks(main, attachments);
}

/** @param {HTMLElement} main @param {Attachments} attachments */
function startPicking(main, attachments) {
  const input = /** @type {HTMLInputElement} */ (main.querySelector(".file-input"));
  main.querySelector("[data-attach=files]")?.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    attachments.addFiles([...(input.files ?? [])].map((file) => ({ file })));
    // Reset, so that picking the same file again counts as a change.
    input.value = "";
  });
}

/** @param {HTMLElement} main @param {Attachments} attachments */
function startDropping(main, attachments) {
  const zone = /** @type {HTMLElement} */ (main.querySelector(".drop-zone"));
  /** @param {DragEvent} event */
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;
  /** @param {DragEvent} event */
  const isOver = (event) => event.target instanceof Node && main.contains(event.target);
  // By default a file dropped elsewhere would replace the page.
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event) || !event.dataTransfer) return;
    event.preventDefault();
    zone.hidden = !isOver(event);
    event.dataTransfer.dropEffect = isOver(event) ? "copy" : "none";
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) zone.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    zone.hidden = true;
    if (!carriesFiles(event)) return;
    event.preventDefault();
    if (isOver(event) && event.dataTransfer) attachments.addFiles(filesOf(event.dataTransfer));
  });
}

/** @param {DataTransfer} transfer */
function filesOf(transfer) {
  const entries = [...transfer.items].filter(({ kind }) => kind === "file");
  return entries.flatMap((entry) => {
    const file = entry.getAsFile();
    return file ? [{ file, isFolder: entry.webkitGetAsEntry?.()?.isDirectory ?? false }] : [];
  });
}

/** @param {HTMLElement} main @param {Attachments} attachments */
function startPasting(main, attachments) {
  const box = /** @type {HTMLTextAreaElement} */ (main.querySelector("#message-box"));
  document.addEventListener("paste", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const isElsewhere = target !== box && target?.closest("dialog, input, textarea, [contenteditable]");
    if (isElsewhere || !event.clipboardData) return;
    const files = [...event.clipboardData.files];
    const text = event.clipboardData.getData("text/plain").trim();
    // Spreadsheets paste a picture of the cells along with their text: take the text.
    if (files.length && (!text || files.some(({ name }) => text.includes(name)))) {
      event.preventDefault();
      attachments.addFiles(files.map((file) => ({ file })));
    } else if (addressIn(text) && !box.value.trim()) {
      event.preventDefault();
      pasteLink(box, attachments, addressIn(text));
    }
  });
}

/** @param {HTMLTextAreaElement} box @param {Attachments} attachments @param {string} url */
function pasteLink(box, attachments, url) {
  attachments.addStored("link", { url });
  toast("Attached as a link.", {
    label: "Make it text",
    act: () => {
      attachments.drop(url);
      box.value = `${url}${box.value ? ` ${box.value}` : ""}`;
      box.dispatchEvent(new Event("input", { bubbles: true }));
      box.focus();
    },
  });
}

/** @param {HTMLElement} main @param {Attachments} attachments */
function startLinks(main, attachments) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("link-dialog"));
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector("form"));
  const address = /** @type {HTMLInputElement} */ (dialog.querySelector("#link-address"));
  const title = /** @type {HTMLInputElement} */ (dialog.querySelector("#link-title"));
  const problem = /** @type {HTMLElement} */ (dialog.querySelector("#link-problem"));
  /** @param {string} words */
  const say = (words) => {
    problem.textContent = words;
    address.setAttribute("aria-invalid", String(Boolean(words)));
  };
  main.querySelector("[data-attach=link]")?.addEventListener("click", () => {
    form.reset();
    say("");
    dialog.showModal();
    address.focus();
  });
  dialog.querySelector("[data-cancel]")?.addEventListener("click", () => dialog.close());
  address.addEventListener("input", () => say(""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const url = addressIn(address.value);
    if (!url) {
      say("Not an address. Use one that begins with http, https, mailto or obsidian.");
      address.focus();
      return;
    }
    dialog.close();
    attachments.addStored("link", { url, ...(title.value.trim() && { title: title.value.trim() }) });
  });
}
