// @ts-check
/** Chats of other programs: dropped on the list of chats, or chosen, and brought in. */

import { keyHeaders } from "../key.js";
import { counted, numbered, plainly, reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {{ new: number, grown: number, unchanged: number, deleted: number, unreadable: number, failed: { file: string, title: string, id: string, error: string }[], further_failed?: number }} Account */

const ACCEPTED = ".zip,.json,.jsonl,.md,.html,.db,.sqlite";

/** @param {import("../wire.js").Wire} wire */
export function startChatImport(wire) {
  const list = /** @type {HTMLElement | null} */ (document.querySelector("#chats"));
  const told = /** @type {HTMLElement | null} */ (list?.querySelector(".import-told") ?? null);
  const words = told?.querySelector("span");
  const bar = told?.querySelector("progress");
  if (!list || !told || !words || !bar) return;
  /** @param {string} text @param {number} [share] */
  const tell = (text, share) => {
    told.hidden = !text;
    words.textContent = text;
    if (share === undefined) bar.removeAttribute("value");
    else bar.value = share;
  };

  /** @param {File[]} files */
  const bringIn = async (files) => {
    const before = new Set(await idsOf(wire));
    /** @type {Account} */
    const all = { new: 0, grown: 0, unchanged: 0, deleted: 0, unreadable: 0, failed: [], further_failed: 0 };
    for (const [place, file] of files.entries()) {
      tell(`Sending ${file.name}${files.length > 1 ? ` (${place + 1} of ${files.length})` : ""}…`);
      try {
        const headers = { ...keyHeaders(), "X-File-Name": encodeURIComponent(file.name) };
        const sent = await fetch("/api/imports", { method: "POST", body: file, headers });
        if (!sent.ok) throw new Error((await sent.json()).error.message);
        tell("Reading…");
        add(all, await wire.call("memory.import", { upload: (await sent.json()).upload }));
      } catch (error) {
        all.failed.push({ file: file.name, title: "", id: "", error: reasonOf(error) });
      }
    }
    tell("");
    const made = all.new ? (await idsOf(wire)).filter((id) => !before.has(id)) : [];
    if (!made.length) toast(inWords(all));
    else toast(inWords(all), { label: "Show", act: () => document.dispatchEvent(new CustomEvent("show-chats", { detail: made })) });
  };

  const fail = (/** @type {unknown} */ error) => toast(reasonOf(error));
  const choose = (/** @type {Event} */ event) => {
    event.preventDefault();
    const input = Object.assign(document.createElement("input"), { type: "file", multiple: true, accept: ACCEPTED });
    input.addEventListener("change", () => bringIn([...(input.files ?? [])]).catch(fail));
    input.click();
  };
  for (const button of document.querySelectorAll("[data-import]")) button.addEventListener("click", choose);
  list.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation(); // else the chat says that nothing can be dropped here
    event.dataTransfer.dropEffect = "copy";
    list.dataset.drop = "";
  });
  list.addEventListener("dragleave", () => delete list.dataset.drop);
  list.addEventListener("drop", (event) => {
    delete list.dataset.drop;
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    event.stopPropagation();
    bringIn([...event.dataTransfer.files]).catch(fail);
  });
  wire.on("memory.import_progress", ({ chats, share }) => {
    if (!told.hidden) tell(`Reading… ${numbered(chats)} chats so far`, share);
  });
}

/** The ids of all chats, newest first. @param {import("../wire.js").Wire} wire @returns {Promise<string[]>} */
async function idsOf(wire) {
  const { chats } = await wire.call("memory.list_chats", {});
  return chats.map((/** @type {{ id: string }} */ { id }) => id);
}

/** Adds the account of one more file. @param {Account} all @param {Account} account */
function add(all, account) {
  for (const name of /** @type {const} */ (["new", "grown", "unchanged", "deleted", "unreadable"])) all[name] += account[name];
  all.failed.push(...account.failed);
  all.further_failed = (all.further_failed ?? 0) + (account.further_failed ?? 0);
}

/** What was brought in, in words. @param {Account} account */
export function inWords(account) {
  const found = [
    account.new && counted(account.new, "new chat"),
    account.grown && `${numbered(account.grown)} with new messages`,
    account.unchanged && `${numbered(account.unchanged)} known already`,
    account.deleted && `${numbered(account.deleted)} left in the trash`,
    account.unreadable && `${numbered(account.unreadable)} without messages that can be read`,
  ].filter(Boolean);
  const [first, ...more] = account.failed;
  if (!first) return `${found.join(", ") || "No chats"}.`;
  const others = more.length + (account.further_failed ?? 0);
  const rest = others ? ` and ${numbered(others)} more` : "";
  return `${found.join(", ") || "No chats came in"}. Not read: ${first.title || first.id || first.file}${rest}: ${plainly(first.error).replace(/\.$/, "")}.`;
}
